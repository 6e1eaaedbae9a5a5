package deployment_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/deployment"
	"github.com/bowline-dev/bowline/internal/controllers/replicaset"
)

// controllers are both as one program.
var controllers = trial.Of(replicaset.Add, deployment.Add)

func TestNoFaultBreaksTheBoundsOfARollout(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, rolling(controllers.Once()))
}

// Who runs two without an election has each step done twice, or by one who sees what was half a minute ago.
func TestTwoControllersAtOnceKeepTheBoundsOfARollout(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, rolling(controllers.Twice()))
}

// rolling is a rollout and its undo, with faults in the midst of it. Nobody's state is in events.
func rolling(processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone(), bowlinetest.Manage(trial.Running)},
		Processes:  processes,
		Act:        rollout,
		Settle:     4 * time.Minute,
		Invariants: []func(bowlinetest.State) error{bounded},
		Compare:    running,
		Skip:       trial.Events,
		Budget:     30,
	}
}

// rollout is what a user does: a deployment of four, another image, and back.
func rollout(ctx context.Context, config *rest.Config) error {
	return declare(ctx, config, func(*appsv1.Deployment) {},
		later{20 * time.Second, image("web:2")}, later{20 * time.Second, image("web:1")})
}

// later is a strategic merge patch, so long after what was done before.
type later struct {
	after time.Duration
	patch string
}

// image gives a deployment's pods another one.
func image(name string) string {
	return fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":%q}]}}}}`, name)
}

// declare makes a deployment of four, web:1, but for what change says, and patches it.
func declare(ctx context.Context, config *rest.Config, change func(*appsv1.Deployment), patches ...later) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	deployments := client.For[*appsv1.Deployment](c)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
	labels := map[string]string{"app": "web"}
	d.Spec.Replicas = new(int32(4))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	change(d)
	if _, err := deployments.Create(ctx, d, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, p := range patches {
		time.Sleep(p.after)
		patch, strategic := []byte(p.patch), types.StrategicMergePatchType
		if _, err := deployments.Patch(ctx, "default", "web", "", strategic, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// bounded is broken when there are more pods than the surge allows; and, of a deployment that was available, when fewer are ready
// than may be.
func bounded(s bowlinetest.State) error {
	all, ready := 0, 0
	for _, pod := range s.Kind("Pod") {
		if pod.GetDeletionTimestamp() != nil {
			continue
		}
		all++
		if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase == "Running" {
			ready++
		}
	}
	const most, least = 5, 3
	if all > most {
		return fmt.Errorf("there are %d pods, and %d are the most", all, most)
	}
	if ready < least && isAvailable(s.Find("Deployment", "default", "web")) {
		return fmt.Errorf("%d pods are available, and %d are the least", ready, least)
	}
	return nil
}

// running leaves out what follows from when a template was heard of, and not from what is asked for in the end: one that is
// replaced before that has no revision, and no replicaset, which by then has no pods. Conditions stand in the order of their
// last change.
func running(s bowlinetest.State) bowlinetest.State {
	for _, d := range s.Kind("Deployment") {
		conditions, _, _ := unstructured.NestedSlice(d.Object, "status", "conditions")
		slices.SortFunc(conditions, func(a, b any) int {
			return cmp.Compare(a.(map[string]any)["type"].(string), b.(map[string]any)["type"].(string))
		})
		unstructured.SetNestedSlice(d.Object, conditions, "status", "conditions") // which is a map
	}
	s.Objects = slices.DeleteFunc(slices.Clone(s.Objects), func(o *unstructured.Unstructured) bool {
		annotations := o.GetAnnotations()
		delete(annotations, deployment.RevisionAnnotation)
		delete(annotations, deployment.HistoryAnnotation)
		o.SetAnnotations(annotations)
		size, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		return o.GetKind() == "ReplicaSet" && found && size == 0
	})
	return s
}

func isAvailable(d *unstructured.Unstructured) bool {
	if d == nil {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(d.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == "Available" && c["status"] == "True" {
			return true
		}
	}
	return false
}
