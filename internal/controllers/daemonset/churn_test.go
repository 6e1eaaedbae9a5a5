package daemonset_test

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
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/daemonset"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
	"github.com/bowline-dev/bowline/internal/trial"
)

const (
	churnNodes = 30
	// maxInterference is the number of pods after which the test stops causing failures, so that a broken back-off
	// does not run forever.
	maxInterference = 1000
	// The back-off delays within an hour are 1, 2, 4 seconds and so on, up to 15 minutes: twelve or thirteen
	// of them.
	least, maxBatch = 8 * churnNodes, 14 * churnNodes
)

// churnOptions returns a set with the strategy, and the nodes for its pods.
func churnOptions(strategy appsv1.DaemonSetUpdateStrategy) bowlinetest.Option {
	var all []client.Object
	for i := range churnNodes {
		all = append(all, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}})
	}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: "default"}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	set.Spec.Template.Labels = set.Spec.Selector.MatchLabels
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Image: "agent:1"}}
	set.Spec.UpdateStrategy = strategy
	return bowlinetest.Objects(append(all, set)...)
}

// For an hour, the pods on each of many nodes end as soon as they are created. Each node gets about a dozen
// pods, and no ended pod is left over.
func TestEndingPodsBackOff(t *testing.T) {
	t.Parallel()
	surging := appsv1.DaemonSetUpdateStrategy{RollingUpdate: &appsv1.RollingUpdateDaemonSet{
		MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0)),
	}}
	for _, c := range []struct {
		name     string
		strategy appsv1.DaemonSetUpdateStrategy
		phase    corev1.PodPhase
	}{
		{"failing pods", appsv1.DaemonSetUpdateStrategy{}, corev1.PodFailed},
		{"succeeding pods", appsv1.DaemonSetUpdateStrategy{}, corev1.PodSucceeded},
		{"failing pods with a surge", surging, corev1.PodFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var made atomic.Int32
			end := func(pod *corev1.Pod, _ []*corev1.Pod) {
				if made.Add(1) < maxInterference {
					pod.Status.Phase = c.phase
				}
			}
			bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
				if err := ready(t.Context(), p.RESTConfig()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				page, err := bowlinetest.Client[*corev1.Pod](t, p).List(t.Context(), "default", metav1.ListOptions{})
				if err != nil || len(page.Items) != churnNodes {
					t.Errorf("got %d pods (%v), want %d", len(page.Items), err, churnNodes)
				}
			}, trial.Alone(), churnOptions(c.strategy), bowlinetest.Manage(func(m *controller.Manager) error {
				daemonset.Add(m)
				return trial.Nodes(0, end)(m)
			}))
			if n := made.Load(); n > maxBatch || n < least {
				t.Errorf("got %d created pods, want %d to %d", n, least, maxBatch)
			}
		})
	}
}

// For an hour, another client relabels each pod as soon as it is created, so that the set loses it.
func TestPodLossIsReportedAndBackedOff(t *testing.T) {
	t.Parallel()
	var taken atomic.Int32
	var peace atomic.Bool
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		if err := ready(t.Context(), p.RESTConfig()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n := taken.Load(); n > maxBatch || n < least {
			t.Errorf("got %d created pods, want %d to %d", n, least, maxBatch)
		}
		events, err := bowlinetest.Client[*corev1.Event](t, p).List(t.Context(), "default", metav1.ListOptions{
			FieldSelector: "involvedObject.name=agent,reason=FightingSelectors",
		})
		const says = "has the labels app=mine,controller-revision-hash="
		if err != nil || len(events.Items) == 0 || !strings.Contains(events.Items[0].Message, says) {
			t.Errorf("got events %v (%v), want FightingSelectors with %q", events.Items, err, says)
		}
		peace.Store(true)
		time.Sleep(time.Hour / 2)
		synctest.Wait()
		page, err := bowlinetest.Client[*corev1.Pod](t, p).List(t.Context(), "default",
			metav1.ListOptions{LabelSelector: "app=agent"})
		if err != nil || len(page.Items) != churnNodes {
			t.Errorf("half an hour after the last relabeling: got %d pods (%v), want %d", len(page.Items), err,
				churnNodes)
		}
	}, trial.Alone(), churnOptions(appsv1.DaemonSetUpdateStrategy{}),
		bowlinetest.Manage(func(m *controller.Manager) error {
			daemonset.Add(m)
			relabelPods(m, &taken, &peace)
			return nil
		}))
}

// relabelPods adds a controller that relabels the set's pods until stop is set.
func relabelPods(m *controller.Manager, relabeled *atomic.Int32, stop *atomic.Bool) {
	all := informer.For[*corev1.Pod](m.Informers(), pods.Resource)
	writes := client.Of[*corev1.Pod](m.Client(), pods.Resource)
	m.Add(controller.Options{
		Name:    "relabeler",
		Sources: []controller.Source{controller.For(all)},
		Reconciler: controller.Func(func(ctx context.Context, request controller.Request) (controller.Result, error) {
			pod, ok := all.Indexer().Get(request)
			if !ok || pod.Labels["app"] != "agent" || stop.Load() || relabeled.Load() >= maxInterference {
				return controller.Result{}, nil
			}
			relabeled.Add(1)
			patch := []byte(`{"metadata":{"labels":{"app":"mine"}}}`)
			_, err := writes.Patch(ctx, pod.Namespace, pod.Name, "", types.MergePatchType, patch, metav1.PatchOptions{})
			return controller.Result{}, err
		}),
	})
}
