//lint:file-ignore SA1019 Kubernetes still serves the deprecated Endpoints

package endpoint

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// Endpoints list at most a thousand addresses: ready ones first, and from each subset a proportional part.
func TestExcessAddressesAreDropped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ready, notReady [2]int // of two subsets
		wantReady       [2]int
		wantNotReady    [2]int
		over            bool
	}{
		{[2]int{500, 0}, [2]int{0, 500}, [2]int{500, 0}, [2]int{0, 500}, false},
		{[2]int{600, 300}, [2]int{100, 100}, [2]int{600, 300}, [2]int{50, 50}, true},
		{[2]int{1500, 500}, [2]int{10, 10}, [2]int{750, 250}, [2]int{0, 0}, true},
		{[2]int{1001, 2}, [2]int{0, 0}, [2]int{999, 1}, [2]int{0, 0}, true}, // rounded up, so the last subset gets less
	} {
		var all []corev1.EndpointSubset
		for i := range c.ready {
			all = append(all, corev1.EndpointSubset{Addresses: addresses(c.ready[i]),
				NotReadyAddresses: addresses(c.notReady[i])})
		}
		got, over := truncate(all)
		for i := range got {
			if len(got[i].Addresses) != c.wantReady[i] || len(got[i].NotReadyAddresses) != c.wantNotReady[i] ||
				over != c.over {
				t.Errorf("%v ready, %v not ready: subset %d: got %d ready, %d not ready, truncated %t", c.ready,
					c.notReady, i,
					len(got[i].Addresses), len(got[i].NotReadyAddresses), over)
			}
		}
	}
}

// The server rejects a subset without addresses.
func TestEmptySubsetsAreRemoved(t *testing.T) {
	t.Parallel()
	got, over := truncate([]corev1.EndpointSubset{{Addresses: addresses(1001)}, {NotReadyAddresses: addresses(1)}})
	if len(got) != 1 || len(got[0].Addresses) != maxAddresses || !over {
		t.Errorf("got %d subsets, truncated %t; want 1, true", len(got), over)
	}
}

// The trigger time is that of pods that became ready or unready. A pod that is in no subset, for example a
// terminating one, has none.
func TestTriggerTimeOfChangedPods(t *testing.T) {
	t.Parallel()
	at := func(second int) metav1.Time { return metav1.Date(2000, 1, 1, 0, 0, second, 0, time.UTC) }
	s := Input{Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}}
	s.Service.Spec.Selector = map[string]string{"app": "web"}
	s.Service.Spec.ClusterIP = corev1.ClusterIPNone
	for i, name := range []string{"deleted", "lasting", "added"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)}}
		pod.Spec.NodeName = "n"
		pod.Status.PodIPs = []corev1.PodIP{{IP: fmt.Sprintf("10.1.0.%d", i+1)}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
			LastTransitionTime: at(i)}}
		s.Pods = append(s.Pods, pod)
	}
	added := s.Pods[2]
	s.Pods = s.Pods[:2]
	triggerTime := func() string {
		t.Helper()
		actions := Decide(s)
		if len(actions) != 1 {
			t.Fatal(actions)
		}
		switch a := actions[0].(type) {
		case action.Create[*corev1.Endpoints]:
			s.Endpoints = a.Object
		case action.Update[*corev1.Endpoints]:
			s.Endpoints = a.Object
		}
		return s.Endpoints.Annotations[corev1.EndpointsLastChangeTriggerTime]
	}
	triggerTime()
	now := at(9)
	s.Pods[0].DeletionTimestamp = &now
	if got := triggerTime(); got != "" {
		t.Errorf("after a pod was deleted: got trigger time %q, want none", got)
	}
	s.Pods = append(s.Pods, added)
	if got, want := triggerTime(), "2000-01-01T00:00:02Z"; got != want {
		t.Errorf("got trigger time %q, want %s", got, want)
	}
	s.Pods[1].Status.Phase = corev1.PodSucceeded
	if got := triggerTime(); got != "" {
		t.Errorf("after a pod terminated: got trigger time %q, want none", got)
	}
}

func addresses(n int) (all []corev1.EndpointAddress) {
	for i := range n {
		all = append(all, corev1.EndpointAddress{IP: fmt.Sprint(i)})
	}
	return all
}

// A second decision on the same input does nothing.
func TestSecondDecisionDoesNothing(t *testing.T) {
	t.Parallel()
	s := Input{Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default",
		Labels: map[string]string{"a": "b"}}}}
	s.Service.Spec.Selector = map[string]string{"app": "web"}
	s.Service.Spec.ClusterIP = corev1.ClusterIPNone
	for i := range 1200 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Namespace: "default"}}
		pod.Spec.NodeName = "n"
		pod.Status.PodIPs = []corev1.PodIP{{IP: fmt.Sprintf("10.1.%d.%d", i/250, i%250+1)}}
		s.Pods = append(s.Pods, pod)
	}
	first := Decide(s)
	if len(first) != 1 {
		t.Fatal(first)
	}
	s.Endpoints = first[0].(action.Create[*corev1.Endpoints]).Object
	if n := len(s.Endpoints.Subsets[0].NotReadyAddresses); n != maxAddresses ||
		s.Endpoints.Annotations[corev1.EndpointsOverCapacity] != "truncated" {
		t.Errorf("got %d addresses, annotations %v; want %d and the truncation", n, s.Endpoints.Annotations,
			maxAddresses)
	}
	if second := Decide(s); len(second) > 0 {
		t.Error(second)
	}
	s.Pods = s.Pods[:1]
	second := Decide(s)
	if len(second) != 1 ||
		second[0].(action.Update[*corev1.Endpoints]).Object.Annotations[corev1.EndpointsOverCapacity] != "" {
		t.Error(second)
	}
}

// Old programs use Endpoints without a service for leader election.
func TestLeaderElectionEndpointsStay(t *testing.T) {
	t.Parallel()
	e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"control-plane.alpha.kubernetes.io/leader": "{}"}}}
	if got := Decide(Input{Endpoints: e}); len(got) > 0 {
		t.Error(got)
	}
	e = &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	got := fmt.Sprint(Decide(Input{Endpoints: e}))
	if want := "[check that service/web does not exist delete endpoint/web]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
