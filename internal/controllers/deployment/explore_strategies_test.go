package deployment_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestFaultsRespectScalingBounds(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, resizing(controllers.Once()))
}

func TestTwoControllersRespectScalingBounds(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, resizing(controllers.Twice()))
}

func TestFaultsRunOneTemplateDuringRecreate(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, recreating(controllers.Once()))
}

func TestTwoControllersRunOneTemplateDuringRecreate(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, recreating(controllers.Twice()))
}

// resizing is the scenario of a rollout without a surge, during which the Deployment is scaled twice.
func resizing(processes []bowlinetest.Process) bowlinetest.Scenario {
	s := rolling(processes)
	s.Invariants = []func(bowlinetest.State) error{withinDesired}
	s.Act = func(ctx context.Context, config *rest.Config) error {
		return declare(ctx, config, func(d *appsv1.Deployment) {
			d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{
				MaxSurge: new(intstr.FromInt32(0)), MaxUnavailable: new(intstr.FromInt32(2)),
			}
		},
			delayedPatch{20 * time.Second, image("web:2")}, delayedPatch{time.Millisecond, `{"spec":{"replicas":5}}`},
			delayedPatch{3 * time.Second, `{"spec":{"replicas":7}}`})
	}
	return s
}

// withinDesired fails if a Deployment without a surge, which is never scaled down, has too many pods.
func withinDesired(s bowlinetest.State) error {
	d, all := s.Find("Deployment", "default", "web"), int64(0)
	if d == nil {
		return nil
	}
	for _, pod := range s.Kind("Pod") {
		if pod.GetDeletionTimestamp() == nil {
			all++
		}
	}
	if most, _, _ := unstructured.NestedInt64(d.Object, "spec", "replicas"); all > most {
		return fmt.Errorf("got %d pods, want at most %d", all, most)
	}
	return nil
}

// recreating is the scenario of a Deployment with the Recreate strategy whose pods take five seconds to
// terminate. The second image is set before the pods of the first one run.
func recreating(processes []bowlinetest.Process) bowlinetest.Scenario {
	s := rolling(processes)
	s.Options = []bowlinetest.Option{trial.Alone(), bowlinetest.Manage(trial.Running),
		bowlinetest.Manage(removeTerminatingPods)}
	s.Invariants = []func(bowlinetest.State) error{oneTemplate}
	s.Act = func(ctx context.Context, config *rest.Config) error {
		return declare(ctx, config, func(d *appsv1.Deployment) {
			d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
			d.Spec.Template.Spec.NodeName = "n"
		}, delayedPatch{time.Millisecond, image("web:2")}, delayedPatch{20 * time.Second, image("web:3")})
	}
	return s
}

// oneTemplate fails if pods of two images exist, including terminating ones.
func oneTemplate(s bowlinetest.State) error {
	images := map[any]bool{}
	for _, pod := range s.Kind("Pod") {
		containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
		images[containers[0].(map[string]any)["image"]] = true
	}
	if len(images) > 1 {
		return fmt.Errorf("got pods of the images %v, want one image", images)
	}
	return nil
}

// removeTerminatingPods adds a controller that removes deleted pods five seconds after their deletion was requested.
func removeTerminatingPods(m *controller.Manager) error {
	all := informer.For[*corev1.Pod](m.Informers(), pods.Resource)
	writes := client.Of[*corev1.Pod](m.Client(), pods.Resource)
	m.Add(controller.Options{
		Name:    "pod-remover",
		Sources: []controller.Source{controller.For(all)},
		Reconciler: controller.Func(func(ctx context.Context, request controller.Request) (controller.Result, error) {
			pod, ok := all.Indexer().Get(request)
			if !ok || pod.DeletionTimestamp == nil {
				return controller.Result{}, nil
			}
			// The deletion timestamp is the time of the request plus the grace period.
			requested := pod.DeletionTimestamp.Add(-time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second)
			if wait := time.Until(requested.Add(5 * time.Second)); wait > 0 {
				return controller.Result{RequeueAfter: wait}, nil
			}
			return controller.Result{},
				writes.Delete(ctx, pod.Namespace, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		}),
	})
	return nil
}
