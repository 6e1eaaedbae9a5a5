package disruption

import (
	"fmt"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// many returns the input for a budget of some pods, in a namespace where other budgets select them too.
func many(pods, others int) Input {
	least := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 1}}
	budget.Spec.MinAvailable = &least
	s, web := Input{Budget: budget, Reported: &ReportedPods{}, Now: time.Now()}, map[string]string{"app": "web"}
	for i := range pods {
		name := fmt.Sprint("web-", i)
		s.Pods = append(s.Pods,
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: web}})
	}
	for range others {
		s.Others = append(s.Others, labels.SelectorFromSet(web))
	}
	return s
}

// decide applies the status update to the budget and returns the events about pods.
func (s *Input) decide(t *testing.T) (events []action.OnSuccess) {
	t.Helper()
	actions, err := Decide(*s)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range actions {
		switch a := a.(type) {
		case action.OnSuccess:
			events = append(events, a)
		case action.Update[*policyv1.PodDisruptionBudget]:
			s.Budget = a.Object
		}
	}
	return events
}

func TestOverlappingBudgetsAreReportedOncePerPod(t *testing.T) {
	t.Parallel()
	s := many(100, 1)
	events := s.decide(t)
	if len(events) != 100 {
		t.Fatalf("got events about %d pods, want 100", len(events))
	}
	for _, a := range events {
		a.Done()
	}
	s.Pods = append(s.Pods, many(101, 0).Pods[100])
	if events := s.decide(t); len(events) != 1 {
		t.Errorf("after another pod: got events about %d pods, want 1", len(events))
	}
}

// Every pod change triggers a recount, and most change nothing.
func TestUnchangedCountAllocatesLittle(t *testing.T) {
	s := many(1000, 200)
	s.decide(t)
	if n := testing.AllocsPerRun(10, func() {
		if events := s.decide(t); len(events) > 0 {
			t.Fatalf("got %d repeated events, want none", len(events))
		}
	}); n > 100 {
		t.Errorf("1,000 pods and 200 other budgets: got %.0f allocations, want at most 100", n)
	}
}

// Numbers that exceed an int32 count as very large ones and not as negative ones, which would allow every disruption.
func TestHugeNumbersAllowNoDisruption(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*policyv1.PodDisruptionBudgetSpec){
		"minAvailable of huge sets": func(s *policyv1.PodDisruptionBudgetSpec) {
			s.MinAvailable = new(intstr.FromString("50%"))
		},
		"percentage": func(s *policyv1.PodDisruptionBudgetSpec) { s.MinAvailable = new(intstr.FromString("4294967396%")) },
		"maxUnavailable of huge sets": func(s *policyv1.PodDisruptionBudgetSpec) {
			s.MinAvailable, s.MaxUnavailable = nil, new(intstr.FromInt32(1))
		},
	} {
		s := many(4, 0)
		change(&s.Budget.Spec)
		for i, pod := range s.Pods { // four sets, each of the largest size
			uid := types.UID(fmt.Sprint("set-", i))
			pod.OwnerReferences = []metav1.OwnerReference{{UID: uid, Controller: new(true)}}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		s.Scale = func(pod *corev1.Pod) (Scale, error) { return Scale{pod.OwnerReferences[0].UID, math.MaxInt32}, nil }
		s.decide(t)
		if status := s.Budget.Status; status.DisruptionsAllowed != 0 || status.ExpectedPods != math.MaxInt32 ||
			status.DesiredHealthy < math.MaxInt32/2 {
			t.Errorf("%s: got status %+v, want no disruption of %d pods", name, status, math.MaxInt32)
		}
	}
}
