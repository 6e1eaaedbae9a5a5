package disruption_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/controllers/disruption"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestFaultsViolateNoBudget(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, draining(trial.Of(disruption.Add).Once()))
}

func TestTwoControllersViolateNoBudget(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, draining(trial.Of(disruption.Add).Twice()))
}

// draining is the scenario of a budget of which two pods must be available. Each of three pods is evicted as
// soon as that is allowed, and then replaced.
func draining(processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone()},
		Processes:  processes,
		Act:        drain,
		Settle:     5 * time.Minute,
		Invariants: []func(bowlinetest.State) error{enough},
		Compare:    agreeing,
		Skip:       trial.Events,
		Budget:     30,
	}
}

func drain(ctx context.Context, config *rest.Config) error {
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	least := intstr.FromInt32(2)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	budget.Spec.MinAvailable = &least
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	if _, err := c.PolicyV1().PodDisruptionBudgets("default").Create(ctx, budget, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := trial.RunPod(ctx, config, name, ""); err != nil {
			return err
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		time.Sleep(5 * time.Second)
		for attempt := range 60 {
			err := c.CoreV1().Pods("default").EvictV1(ctx,
				&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
					DeleteOptions: metav1.NewDeleteOptions(0)})
			if err == nil {
				break
			}
			if !apierrors.IsTooManyRequests(err) || attempt == 59 {
				return err
			}
			time.Sleep(5 * time.Second)
		}
		if err := trial.RunPod(ctx, config, name, ""); err != nil { // a new pod of the same name
			return err
		}
	}
	return nil
}

// agreeing replaces the budget's status by its difference from the actual pods. How many pods were evicted
// depends on how long the controller was delayed, and the scenario may stop at any point.
func agreeing(s bowlinetest.State) bowlinetest.State {
	ready, others := int64(0), s.Objects[:0:0]
	for _, o := range s.Objects {
		switch {
		case o.GetKind() != "Pod":
			others = append(others, o)
		case isReady(o.Object):
			ready++
		}
	}
	s.Objects = others
	if budget := s.Find("PodDisruptionBudget", "default", "web"); budget != nil {
		healthy, _, _ := unstructured.NestedInt64(budget.Object, "status", "currentHealthy")
		allowed, _, _ := unstructured.NestedInt64(budget.Object, "status", "disruptionsAllowed")
		conditions, _, _ := unstructured.NestedSlice(budget.Object, "status", "conditions")
		conditionAgrees := len(conditions) == 1 && (conditions[0].(map[string]any)["status"] == "True") == (allowed > 0)
		budget.Object["status"] = map[string]any{
			"currentHealthy minus ready pods":     healthy - ready,
			"disruptionsAllowed minus spare pods": allowed - max(0, ready-2),
			"condition agrees":                    conditionAgrees,
		}
	}
	return s
}

func isReady(pod map[string]any) bool {
	phase, _, _ := unstructured.NestedString(pod, "status", "phase")
	return phase == string(corev1.PodRunning)
}

// enough fails if fewer than two pods are ready once three were.
func enough(s bowlinetest.State) error {
	ready, c := 0, s.Find("Pod", "default", "c")
	if c == nil {
		return nil // not started, or the last one is being replaced
	}
	for _, pod := range s.Kind("Pod") {
		if pod.GetDeletionTimestamp() == nil && isReady(pod.Object) {
			ready++
		}
	}
	if ready < 2 && isReady(c.Object) {
		return fmt.Errorf("got %d ready pods, want at least 2", ready)
	}
	return nil
}
