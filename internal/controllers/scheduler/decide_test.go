package scheduler

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMessagesMatchKubernetes(t *testing.T) {
	t.Parallel()
	zone := func(value string) func(*corev1.Node) { return labelled("zone", value) }
	for _, c := range []struct {
		name  string
		pod   *corev1.Pod
		nodes []*Node
		want  string
	}{
		{"no node", pod("p", "1"), nil, "no nodes available to schedule pods"},
		{"two resources", pod("p", "8", func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("16Gi")
		}), []*Node{on("a", nil)}, "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory."},
		{"extended resource", pod("p", "1", func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
		}), []*Node{on("a", nil)}, "0/1 nodes are available: 1 Insufficient example.com/gpu."},
		{"number of pods", pod("p", "1"), []*Node{on("a", func(n *corev1.Node) {
			n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("1")
		}, pod("q", "1"))}, "0/1 nodes are available: 1 Too many pods."},
		{"several reasons", pod("p", "3", func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{"zone": "east"}
		}), []*Node{
			on("a", func(n *corev1.Node) {
				n.Spec.Unschedulable = true
			}), on("b", tainted("k", corev1.TaintEffectNoSchedule)), on("c", nil),
			on("d", zone("west")), on("e", zone("east"), pod("q", "2")),
		},
			"0/5 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, " +
				"2 node(s) didn't match Pod's node affinity/selector."},
		{"one node by name", pod("p", "3", func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{
						MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In",
							Values: []string{"b"}}},
					}}},
			}}
		}), []*Node{on("a", nil), on("b", nil, pod("q", "2")), on("c", nil)},
			"0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."},
		{"port", pod("p", "1", hostPort80("")), []*Node{on("a", nil, pod("q", "1", hostPort80("10.0.0.1")))},
			"0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports."},
		{"affinity", pod("p", "1", near("cache", "zone")), []*Node{on("a", zone("east"))},
			"0/1 nodes are available: 1 node(s) didn't match pod affinity rules."},
		{"anti-affinity", pod("p", "1", far("cache", "zone")), []*Node{on("a", zone("east"), pod("cache", "1"))},
			"0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules."},
		{"anti-affinity of an existing pod", pod("p", "1"),
			[]*Node{on("a", zone("east"), pod("cache", "1", far("p", "zone")))},
			"0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules."},
		{"spread", pod("p", "1", spreadOver("zone")), []*Node{
			on("a", zone("east"), pod("p", "1")), on("b", zone("west"), pod("q", "4")), on("c", nil),
		}, "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints, " +
			"1 node(s) didn't match pod topology spread constraints (missing required label)."},
	} {
		d := fixture{nodes: c.nodes}.decide(c.pod)
		message, _, _ := strings.Cut(d.Message, " preemption:")
		if d.Node != "" || message != c.want {
			t.Errorf("%s: got node %q, message\n%s\nwant no node, message\n%s", c.name, d.Node, message, c.want)
		}
	}
}

// prefers returns a change of a pod that prefers nodes with a label.
func prefers(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1,
				Preference: corev1.NodeSelectorTerm{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: "In",
						Values: []string{value}}},
				}}},
		}}
	}
}

// prefersPods returns a change of a pod that prefers nodes with pods of an app or, if anti is set, nodes without them.
func prefersPods(app string, anti bool) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		all := []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: podsOf(app, corev1.LabelHostname)}}
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: all,
		}}
		if anti {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: all,
			}}
		}
	}
}

func TestBestNodeIsChosen(t *testing.T) {
	t.Parallel()
	terminating := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }
	east, west := labelled(corev1.LabelTopologyZone, "east"), labelled(corev1.LabelTopologyZone, "west")
	for _, c := range []struct {
		name  string
		pod   *corev1.Pod
		nodes []*Node
		want  string
	}{
		{"first of equal nodes", pod("p", "1"), []*Node{on("a", nil), on("b", nil)}, "a"},
		{"most free resources", pod("p", "1"), []*Node{on("a", nil, pod("q", "2")), on("b", nil, pod("r", "1"))}, "b"},
		{"pods without requests", pod("p", ""), []*Node{on("a", nil, pod("q", "")), on("b", nil)},
			"b"},
		{"preferred node affinity", pod("p", "1", prefers("disk", "fast")),
			[]*Node{on("a", nil), on("b", labelled("disk", "fast"), pod("q", "1"))}, "b"},
		{"PreferNoSchedule taint", pod("p", "1"),
			[]*Node{on("a", tainted("k", corev1.TaintEffectPreferNoSchedule)), on("b", nil, pod("q", "1"))}, "b"},
		{"preferred pod affinity", pod("p", "1", prefersPods("q", false)),
			[]*Node{on("a", nil), on("b", nil, pod("q", "1"))},
			"b"},
		{"preferred pod anti-affinity", pod("p", "1", prefersPods("q", true)),
			[]*Node{on("a", nil, pod("q", "100m")), on("b", nil, pod("r", "1"))}, "b"},
		{"preferred anti-affinity of an existing pod", pod("p", "1"),
			[]*Node{on("a", nil, pod("q", "100m", prefersPods("p", true))), on("b", nil, pod("r", "1"))}, "b"},
		{"pods of the same owner", pod("p", "100m", ownedBy("rs")),
			[]*Node{on("a", nil, pod("q", "100m", ownedBy("rs"))), on("b", nil, pod("r", "200m"))}, "b"},
		{"terminating pods of the same owner", pod("p", "100m", ownedBy("rs")), []*Node{
			on("a", nil, pod("q", "100m", ownedBy("rs"))),
			on("b", nil, pod("r", "100m", ownedBy("rs"), terminating), pod("s", "100m")),
		}, "b"},
		{"zone with pods of the same owner", pod("p", "100m", ownedBy("rs")),
			[]*Node{on("a", east), on("b", east, pod("q", "100m", ownedBy("rs"))), on("c", west, pod("r", "200m"))},
			"c"},
		{"nominated node", pod("p", "1", func(p *corev1.Pod) { p.Status.NominatedNodeName = "b" }),
			[]*Node{on("a", nil), on("b", nil, pod("q", "1"))}, "b"},
		{"first pod with affinity to itself",
			pod("p", "1", near("p", corev1.LabelHostname)), []*Node{on("a", nil)}, "a"},
	} {
		if d := (fixture{nodes: c.nodes}).decide(c.pod); d.Node != c.want {
			t.Errorf("%s: got node %q, want %q (%s)", c.name, d.Node, c.want, d.Message)
		}
	}
}

func TestLargeClustersAreSampled(t *testing.T) {
	t.Parallel()
	var w fixture
	for i := range 400 {
		w.nodes = append(w.nodes, on(fmt.Sprintf("node-%03d", i), nil))
	}
	d := w.decide(pod("p", "1"))
	if d.Node != "node-000" || d.Checked != 188 { // (50 - 400/125) percent
		t.Errorf("got %d checked nodes, node %s; want 188, node-000", d.Checked, d.Node)
	}
}
