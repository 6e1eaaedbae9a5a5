package replicaset_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/replicaset"
	"github.com/bowline-dev/bowline/internal/trial"
)

// Each pod fails as soon as it is created, as when a node rejects it. Without a back-off, the controller
// would create pods as fast as the server responds.
func TestFailingPodsBackOff(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		p.Apply(t, setOf("one", 2))
		advance(59 * time.Minute)
		first := countPods(t, p)
		if first < 4 || first > 30 {
			t.Errorf("first hour: got %d created pods, want 4 to 30", first)
		}
		if n := countEvents(t, p, "FailingPods"); n != 1 {
			t.Errorf("got %d events, want 1", n)
		}
		c := conditionOf(t, p, "one")
		if c == nil || c.Reason != "FailingPods" || !strings.Contains(c.Message, "OutOfcpu: no room") {
			t.Fatalf("got condition %+v, want FailingPods with the reason", c)
		}
		advance(time.Hour)
		if second := countPods(t, p) - first; second < 4 || second > 20 {
			t.Errorf("second hour: got %d created pods, want 4 to 20", second)
		}
		if n := countEvents(t, p, "FailingPods"); n != 0 {
			t.Errorf("got %d events in the second hour, want 0", n)
		}

		// After the cause and the failed pods are removed, the next pods are created at once.
		p.Apply(t, strings.ReplaceAll(setOf("one", 2), "{app: one}}\n    spec",
			"{app: one, accepted: always}}\n    spec"))
		all := bowlinetest.Client[*corev1.Pod](t, p)
		if err := all.DeleteCollection(t.Context(), "default", metav1.DeleteOptions{},
			metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		advance(time.Second)
		if n := countPods(t, p); n != 2 {
			t.Errorf("after the cause was removed: got %d pods, want 2", n)
		}
		if c := conditionOf(t, p, "one"); c != nil {
			t.Errorf("after the cause was removed: got condition %+v, want none", c)
		}
	}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		replicaset.Add(m)
		return addRejectingNodes(m)
	}))
}

func countPods(t *testing.T, p *bowlinetest.Plane) int {
	t.Helper()
	page, err := bowlinetest.Client[*corev1.Pod](t, p).List(t.Context(), "default", metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Items)
}

// addRejectingNodes adds nodes that fail each pod, as for a lack of resources, except pods with the label
// accepted=always, which run.
func addRejectingNodes(m *controller.Manager) error {
	return trial.Nodes(0, func(pod *corev1.Pod, _ []*corev1.Pod) {
		pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu", Message: "no room"}
		if pod.Labels["accepted"] == "always" {
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{
				Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
			}}}
		}
	})(m)
}
