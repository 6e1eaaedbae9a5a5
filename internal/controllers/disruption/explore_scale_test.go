package disruption_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/disruption"
	"github.com/bowline-dev/bowline/internal/controllers/replicaset"
	"github.com/bowline-dev/bowline/internal/trial"
)

// A ReplicaSet is scaled from two pods to six, of which half may be unavailable. A controller that has not observed
// that would expect two pods, and allow five evictions.
func TestPercentageBudgetObservesScaling(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, bowlinetest.Scenario{
		Options: []bowlinetest.Option{trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
			replicaset.Add(m)
			return trial.Running(m)
		})},
		Processes:  trial.Of(disruption.Add).Once(),
		Act:        grow,
		Invariants: []func(bowlinetest.State) error{half},
		Compare:    withoutPods,
		// Delays of pods and budgets are explored by other tests.
		Skip: func(p bowlinetest.Point) bool { return p.Resource != "replicasets.apps" },
	})
}

// grow scales the set up and, once all pods are ready, annotates the set and evicts all pods that the budget
// allows.
func grow(ctx context.Context, config *rest.Config) error {
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	labels := map[string]string{"app": "web"}
	share := intstr.FromString("50%")
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	budget.Spec = policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &share,
		Selector: &metav1.LabelSelector{MatchLabels: labels}}
	if _, err := c.PolicyV1().PodDisruptionBudgets("default").Create(ctx, budget, metav1.CreateOptions{}); err != nil {
		return err
	}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	set.Spec.Replicas = new(int32(2))
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	sets := c.AppsV1().ReplicaSets("default")
	if _, err := sets.Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, patch := range []string{`{"spec":{"replicas":6}}`, `{"metadata":{"annotations":{"ready":"all"}}}`} {
		time.Sleep(20 * time.Second)
		if _, err := sets.Patch(ctx, "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return evictAll(ctx, c)
}

// evictAll tries to evict each pod once.
func evictAll(ctx context.Context, c kubernetes.Interface) error {
	all, err := c.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, pod := range all.Items {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: "default"}}
		eviction.DeleteOptions = metav1.NewDeleteOptions(0)
		if err := c.CoreV1().Pods("default").EvictV1(ctx, eviction); err != nil && !apierrors.IsTooManyRequests(err) {
			return err
		}
	}
	return nil
}

// half fails if fewer than three pods are ready after all six were.
func half(s bowlinetest.State) error {
	set := s.Find("ReplicaSet", "default", "web")
	if set == nil || set.GetAnnotations()["ready"] == "" {
		return nil
	}
	ready := 0
	for _, pod := range s.Kind("Pod") {
		if pod.GetDeletionTimestamp() == nil && isReady(pod.Object) {
			ready++
		}
	}
	if ready < 3 {
		return fmt.Errorf("got %d ready pods, want at least 3", ready)
	}
	return nil
}

// withoutPods removes the pods from the state: which ones are evicted differs between runs.
func withoutPods(s bowlinetest.State) bowlinetest.State {
	others := s.Objects[:0:0]
	for _, o := range s.Objects {
		if o.GetKind() != "Pod" {
			others = append(others, o)
		}
	}
	s.Objects = others
	return s
}
