package scheduler

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startedAtHour returns a change of a pod that sets its start time, on a fixed day.
func startedAtHour(hour int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.StartTime = &metav1.Time{Time: time.Date(2030, 1, 1, hour, 0, 0, 0, time.UTC)}
	}
}

func TestPreemptionVictims(t *testing.T) {
	t.Parallel()
	never := func(p *corev1.Pod) { p.Spec.PreemptionPolicy = new(corev1.PreemptNever) }
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "guarded"}}
	for _, c := range []struct {
		name  string
		pod   *corev1.Pod
		nodes []*Node
		want  string // node and victims, or the message
	}{
		{"fewest victims", pod("p", "1", priority(10)),
			[]*Node{on("a", nil, pod("q", "3", priority(1)), pod("r", "1"))}, "a: r"},
		{"node of the least important victims", pod("p", "2", priority(10)),
			[]*Node{on("a", nil, pod("q", "4", priority(2))), on("b", nil, pod("r", "4", priority(1)))}, "b: r"},
		{"node of the newest victims", pod("p", "4", priority(10)),
			[]*Node{on("a", nil, pod("q", "4", startedAtHour(1))), on("b", nil, pod("r", "4", startedAtHour(2)))},
			"b: r"},
		{"node without a violated budget", pod("p", "2", priority(10)),
			[]*Node{on("a", nil, pod("guarded", "4")),
				on("b", nil, pod("r", "2", priority(1)), pod("s", "2", priority(1)))}, "b: s"},
		{"victim without a violated budget", pod("p", "2", priority(10)),
			[]*Node{on("a", nil, pod("guarded", "2"), pod("r", "2", priority(1)))}, "a: r"},
		{"equal priority", pod("p", "2", priority(10)),
			[]*Node{on("a", nil, pod("q", "4", priority(10)))},
			"0/1 nodes are available: 1 No preemption victims found for incoming pod."},
		{"node too small", pod("p", "5", priority(10)), []*Node{on("a", nil, pod("q", "4"))},
			"0/1 nodes are available: 1 Preemption is not helpful for scheduling."},
		{"too few victims", pod("p", "2", priority(10)),
			[]*Node{on("a", nil, pod("q", "3", priority(10)), pod("r", "1"))},
			"0/1 nodes are available: 1 Insufficient cpu."},
		{"preemption policy Never", pod("p", "2", priority(10), never), []*Node{on("a", nil, pod("q", "4"))},
			"not eligible due to preemptionPolicy=Never."},
		{"host port", pod("p", "1", priority(10), hostPort80("")), []*Node{on("a", nil,
			pod("q", "1", priority(3)), pod("r", "1", hostPort80("")), pod("s", "1", priority(2)),
		)}, "a: r"},
		{"extended resource", pod("p", "", priority(10), gpus("2")), []*Node{on("a", func(n *corev1.Node) {
			n.Status.Allocatable["example.com/gpu"] = resource.MustParse("3")
		}, pod("q", "1", gpus("1"), priority(3)), pod("r", "1", gpus("1")), pod("s", "1", gpus("1")), pod("t", "1"))},
			"a: r s"},
		{"anti-affinity", pod("p", "1", priority(10), far("q", corev1.LabelHostname)),
			[]*Node{on("a", nil, pod("q", "1"))}, "a: q"},
		{"anti-affinity of the victim", pod("p", "1", priority(10)),
			[]*Node{on("a", nil, pod("q", "1", far("p", corev1.LabelHostname)))}, "a: q"},
	} {
		d := fixture{nodes: c.nodes, budgets: []*policyv1.PodDisruptionBudget{budget}}.decide(c.pod)
		_, got, _ := strings.Cut(d.Message, " preemption: ")
		if d.Nominate != "" {
			got = d.Nominate + ":"
			for _, victim := range d.Victims {
				got += " " + victim.Name
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q (%s)", c.name, got, c.want, d.Message)
		}
	}
}

func TestNominatedPodsKeepTheirRoom(t *testing.T) {
	t.Parallel()
	a := on("a", nil)
	a.Nominated = []*Pod{NewPod(pod("nominated", "3", priority(5)))}
	for _, c := range []struct {
		priority int32
		want     string
	}{{1, ""}, {5, ""}, {6, "a"}} {
		if d := (fixture{nodes: []*Node{a}}).decide(pod("p", "2", priority(c.priority))); d.Node != c.want {
			t.Errorf("priority %d: got node %q, want %q (%s)", c.priority, d.Node, c.want, d.Message)
		}
	}
	if d := (fixture{nodes: []*Node{a}}).decide(a.Nominated[0].Pod); d.Node != "a" {
		t.Errorf("nominated pod: got node %q, want a (%s)", d.Node, d.Message)
	}
}
