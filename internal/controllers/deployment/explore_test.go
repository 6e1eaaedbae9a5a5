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
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/deployment"
	"github.com/bowline-dev/bowline/internal/controllers/replicaset"
	"github.com/bowline-dev/bowline/internal/trial"
)

// controllers runs both controllers in one program.
var controllers = trial.Of(replicaset.Add, deployment.Add)

func TestFaultsRespectRolloutBounds(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, rolling(controllers.Once()))
}

// With two instances and no leader election, each step may run twice, or in an instance whose cache is
// half a minute old.
func TestTwoControllersRespectRolloutBounds(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, rolling(controllers.Twice()))
}

// rolling is the scenario of a rollout and its rollback, with faults in between. Events are not compared.
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

// rollout creates a Deployment of four pods, changes its image and changes it back.
func rollout(ctx context.Context, config *rest.Config) error {
	return declare(ctx, config, func(*appsv1.Deployment) {},
		delayedPatch{20 * time.Second, image("web:2")}, delayedPatch{20 * time.Second, image("web:1")})
}

// delayedPatch is a strategic merge patch that is applied some time after the previous change.
type delayedPatch struct {
	after time.Duration
	patch string
}

// image returns the patch that sets the image of a Deployment's pods.
func image(name string) string {
	return fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":%q}]}}}}`, name)
}

// declare creates a Deployment of four web:1 pods, modified by change, and applies the patches to it.
func declare(ctx context.Context, config *rest.Config, change func(*appsv1.Deployment), patches ...delayedPatch) error {
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

// bounded fails if there are more pods than the surge permits, or if too few pods are ready after the
// Deployment was available.
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
		return fmt.Errorf("got %d pods, want at most %d", all, most)
	}
	if ready < least && isAvailable(s.Find("Deployment", "default", "web")) {
		return fmt.Errorf("got %d ready pods, want at least %d", ready, least)
	}
	return nil
}

// running removes the parts of the state that depend on timing. A template that is replaced before the
// controller observes it gets no revision and no ReplicaSet, and otherwise a ReplicaSet without pods. The
// order of conditions depends on their last changes.
func running(s bowlinetest.State) bowlinetest.State {
	for _, d := range s.Kind("Deployment") {
		conditions, _, _ := unstructured.NestedSlice(d.Object, "status", "conditions")
		slices.SortFunc(conditions, func(a, b any) int {
			return cmp.Compare(a.(map[string]any)["type"].(string), b.(map[string]any)["type"].(string))
		})
		unstructured.SetNestedSlice(d.Object, conditions, "status", "conditions") // conditions are a map by type
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
