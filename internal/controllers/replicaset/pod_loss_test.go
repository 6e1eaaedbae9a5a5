package replicaset_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
	"github.com/bowline-dev/bowline/internal/controllers/replicaset"
	"github.com/bowline-dev/bowline/internal/trial"
)

// Another client relabels each pod of the ReplicaSet "one" so that the ReplicaSet "two", which wants no pods,
// adopts and deletes it. Without a back-off, this would continue as fast as the server responds.
func TestConflictingSelectorsAreReportedAndBackedOff(t *testing.T) {
	t.Parallel()
	var relabeled atomic.Int32
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		p.Apply(t, setOf("two", 0))
		p.Apply(t, setOf("one", 2))
		advance(59 * time.Minute) // events expire after an hour
		c := conditionOf(t, p, "one")
		const says = "has the labels app=two, and the selector is app=one, while that of replicaset/two matches it"
		if c == nil || c.Type != appsv1.ReplicaSetReplicaFailure || c.Reason != "FightingSelectors" ||
			!strings.Contains(c.Message, says) {
			t.Fatalf("got condition %+v, want FightingSelectors with %q", c, says)
		}
		if n := countEvents(t, p, "FightingSelectors"); n != 1 {
			t.Errorf("got %d events, want 1", n)
		}
		before := relabeled.Load()
		advance(time.Hour)
		if created := relabeled.Load() - before; created < 6 || created > 30 {
			t.Errorf("second hour: got %d created pods, want 6 to 30", created)
		}
		if n := countEvents(t, p, "FightingSelectors"); n != 0 {
			t.Errorf("got %d events in the second hour, want 0", n)
		}

		p.Apply(t, strings.ReplaceAll(setOf("one", 2), "{app: one}}\n    spec",
			"{app: one, relabel: never}}\n    spec"))
		advance(10 * time.Minute)
		if c := conditionOf(t, p, "one"); c != nil {
			t.Errorf("after the relabeling ended: got condition %+v, want none", c)
		}
	}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		replicaset.Add(m)
		relabelPods(m, &relabeled)
		return nil
	}))
}

func setOf(name string, replicas int) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: %[1]s}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: web, image: "nginx:1"}]}
`, name, replicas)
}

// advance waits for a duration and then until all controllers are idle.
func advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// conditionOf returns the failure condition of a ReplicaSet, or nil.
func conditionOf(t *testing.T, p *bowlinetest.Plane, name string) *appsv1.ReplicaSetCondition {
	t.Helper()
	set, err := bowlinetest.Client[*appsv1.ReplicaSet](t, p).Get(t.Context(), "default", name)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Status.Conditions) == 0 {
		return nil
	}
	return &set.Status.Conditions[0]
}

// countEvents returns how often an event with the reason was recorded on the ReplicaSet "one". Events expire after
// an hour.
func countEvents(t *testing.T, p *bowlinetest.Plane, reason string) (times int32) {
	t.Helper()
	page, err := bowlinetest.Client[*corev1.Event](t, p).List(t.Context(), "default", metav1.ListOptions{
		FieldSelector: "involvedObject.name=one,reason=" + reason,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range page.Items {
		times += event.Count
	}
	return times
}

// relabelPods adds a controller that relabels pods from app=one to app=two and counts them.
func relabelPods(m *controller.Manager, relabeled *atomic.Int32) {
	all := informer.For[*corev1.Pod](m.Informers(), pods.Resource)
	writes := client.Of[*corev1.Pod](m.Client(), pods.Resource)
	m.Add(controller.Options{
		Name:    "relabeler",
		Sources: []controller.Source{controller.For(all)},
		Reconciler: controller.Func(func(ctx context.Context, request controller.Request) (controller.Result, error) {
			pod, ok := all.Indexer().Get(request)
			if !ok || pod.Labels["app"] != "one" || pod.Labels["relabel"] == "never" {
				return controller.Result{}, nil
			}
			patch := []byte(`{"metadata":{"labels":{"app":"two"}}}`)
			_, err := writes.Patch(ctx, pod.Namespace, pod.Name, "", types.MergePatchType, patch, metav1.PatchOptions{})
			if err == nil {
				relabeled.Add(1)
			}
			return controller.Result{}, err
		}),
	})
}
