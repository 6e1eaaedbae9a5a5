package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// world is nodes with pods on them, made by the functions below.
type world struct {
	nodes      []*Node
	budgets    []*policyv1.PodDisruptionBudget
	namespaces map[string]labels.Set
}

// on makes a node of four cores and 8 GiB, with pods on it.
func on(name string, change func(*corev1.Node), pods ...*corev1.Pod) *Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("10"),
	}
	if change != nil {
		change(node)
	}
	n := NewNode(node)
	for _, pod := range pods {
		pod.Spec.NodeName = name
		n.add(NewPod(pod))
	}
	return n
}

func labelled(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func tainted(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect}) }
}

// pod makes a pod that asks for so many cores, such as "500m".
func pod(name, cpu string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), Labels: map[string]string{"app": name}}}
	p.Spec.Containers = []corev1.Container{{Name: "web"}}
	if cpu != "" {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func priority(value int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Priority = &value }
}

// decide is what becomes of a pod.
func (w world) decide(pod *corev1.Pod) Decision {
	apart, minding := false, false
	for _, n := range w.nodes {
		apart, minding = apart || len(n.apart) > 0, minding || len(n.minding) > 0
	}
	return Decide(Seen{
		Pod: NewPod(pod), Nodes: w.nodes, Apart: apart, Minding: minding,
		Namespaces: func(name string) labels.Set { return w.namespaces[name] },
		Budgets:    func() []*policyv1.PodDisruptionBudget { return w.budgets },
		Node: func(name string) *Node {
			i := slices.IndexFunc(w.nodes, func(n *Node) bool { return n.Name == name })
			if i < 0 {
				return nil
			}
			return w.nodes[i]
		},
	})
}

func TestEachReasonIsToldAsKubernetesDoes(t *testing.T) {
	t.Parallel()
	zone := func(value string) func(*corev1.Node) { return labelled("zone", value) }
	for _, c := range []struct {
		name  string
		pod   *corev1.Pod
		nodes []*Node
		want  string
	}{
		{"no node", pod("p", "1"), nil, "no nodes available to schedule pods"},
		{"too little of two things", pod("p", "8", func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("16Gi")
		}), []*Node{on("a", nil)}, "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory."},
		{"of something else", pod("p", "1", func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
		}), []*Node{on("a", nil)}, "0/1 nodes are available: 1 Insufficient example.com/gpu."},
		{"too many", pod("p", "1"), []*Node{on("a", func(n *corev1.Node) {
			n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("1")
		}, pod("q", "1"))}, "0/1 nodes are available: 1 Too many pods."},
		{"each its own", pod("p", "3", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"zone": "east"} }), []*Node{
			on("a", func(n *corev1.Node) { n.Spec.Unschedulable = true }), on("b", tainted("k", corev1.TaintEffectNoSchedule)), on("c", nil),
			on("d", zone("west")), on("e", zone("east"), pod("q", "2")),
		}, "0/5 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, " +
			"2 node(s) didn't match Pod's node affinity/selector."},
		{"one node by name", pod("p", "3", func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"b"}}},
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
		{"another's anti-affinity", pod("p", "1"), []*Node{on("a", zone("east"), pod("cache", "1", far("p", "zone")))},
			"0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules."},
		{"spread", pod("p", "1", spreadOver("zone")), []*Node{
			on("a", zone("east"), pod("p", "1")), on("b", zone("west"), pod("q", "4")), on("c", nil),
		}, "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints, " +
			"1 node(s) didn't match pod topology spread constraints (missing required label)."},
	} {
		d := world{nodes: c.nodes}.decide(c.pod)
		message, _, _ := strings.Cut(d.Message, " preemption:")
		if d.Node != "" || message != c.want {
			t.Errorf("%s: %s\nis:   %s\nwant: %s", c.name, d.Node, message, c.want)
		}
	}
}

func hostPort80(ip string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80, HostIP: ip}}
	}
}

func podsOf(app, key string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
}

func near(app, key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{podsOf(app, key)},
		}}
	}
}

func far(app, key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{podsOf(app, key)},
		}}
	}
}

func spreadOver(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
		}}
	}
}

func gpus(count string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if p.Spec.Containers[0].Resources.Requests == nil {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{}
		}
		p.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse(count)
	}
}

func ownedBy(owner string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(owner), Controller: &yes}}
	}
}

func TestTheBestNodeIsChosen(t *testing.T) {
	t.Parallel()
	prefers := func(kind, value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: kind, Operator: "In", Values: []string{value}}},
				}}},
			}}
		}
	}
	likes := func(app string, away bool) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			all := []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: podsOf(app, corev1.LabelHostname)}}
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: all}}
			if away {
				p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: all}}
			}
		}
	}
	leaves := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }
	east, west := labelled(corev1.LabelTopologyZone, "east"), labelled(corev1.LabelTopologyZone, "west")
	for _, c := range []struct {
		name  string
		pod   *corev1.Pod
		nodes []*Node
		want  string
	}{
		{"the first of equals", pod("p", "1"), []*Node{on("a", nil), on("b", nil)}, "a"},
		{"with the most room", pod("p", "1"), []*Node{on("a", nil, pod("q", "2")), on("b", nil, pod("r", "1"))}, "b"},
		{"which pods that ask for nothing take too", pod("p", ""), []*Node{on("a", nil, pod("q", "")), on("b", nil)}, "b"},
		{"that is preferred", pod("p", "1", prefers("disk", "fast")), []*Node{on("a", nil), on("b", labelled("disk", "fast"), pod("q", "1"))}, "b"},
		{"without a taint that would rather not", pod("p", "1"), []*Node{on("a", tainted("k", corev1.TaintEffectPreferNoSchedule)), on("b", nil, pod("q", "1"))}, "b"},
		{"near to whom it likes", pod("p", "1", likes("q", false)), []*Node{on("a", nil), on("b", nil, pod("q", "1"))}, "b"},
		{"far from whom it dislikes", pod("p", "1", likes("q", true)), []*Node{on("a", nil, pod("q", "100m")), on("b", nil, pod("r", "1"))}, "b"},
		{"far from who dislikes it", pod("p", "1"), []*Node{on("a", nil, pod("q", "100m", likes("p", true))), on("b", nil, pod("r", "1"))}, "b"},
		{"with fewer of its own kind", pod("p", "100m", ownedBy("rs")),
			[]*Node{on("a", nil, pod("q", "100m", ownedBy("rs"))), on("b", nil, pod("r", "200m"))}, "b"},
		{"with fewer of its own kind that stay", pod("p", "100m", ownedBy("rs")), []*Node{
			on("a", nil, pod("q", "100m", ownedBy("rs"))), on("b", nil, pod("r", "100m", ownedBy("rs"), leaves), pod("s", "100m")),
		}, "b"},
		{"in a zone with fewer of its own kind", pod("p", "100m", ownedBy("rs")),
			[]*Node{on("a", east), on("b", east, pod("q", "100m", ownedBy("rs"))), on("c", west, pod("r", "200m"))}, "c"},
		{"by a node it is promised", pod("p", "1", func(p *corev1.Pod) { p.Status.NominatedNodeName = "b" }),
			[]*Node{on("a", nil), on("b", nil, pod("q", "1"))}, "b"},
		{"beside itself, when it wants to be near its kind and there is none", pod("p", "1", near("p", corev1.LabelHostname)), []*Node{on("a", nil)}, "a"},
	} {
		if d := (world{nodes: c.nodes}).decide(c.pod); d.Node != c.want {
			t.Errorf("%s: %q, want %q (%s)", c.name, d.Node, c.want, d.Message)
		}
	}
}

func TestTheLeastImportantPodsLeave(t *testing.T) {
	t.Parallel()
	since := func(hour int) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.StartTime = &metav1.Time{Time: time.Date(2030, 1, 1, hour, 0, 0, 0, time.UTC)}
		}
	}
	never := func(p *corev1.Pod) { p.Spec.PreemptionPolicy = new(corev1.PreemptNever) }
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "kept"}}
	for _, c := range []struct {
		name  string
		pod   *corev1.Pod
		nodes []*Node
		want  string // node: victims, or the message about it
	}{
		{"as few as will do", pod("p", "1", priority(10)), []*Node{on("a", nil, pod("q", "3", priority(1)), pod("r", "1"))}, "a: r"},
		{"where the least important ones are", pod("p", "2", priority(10)),
			[]*Node{on("a", nil, pod("q", "4", priority(2))), on("b", nil, pod("r", "4", priority(1)))}, "b: r"},
		{"where they have run for less", pod("p", "4", priority(10)),
			[]*Node{on("a", nil, pod("q", "4", since(1))), on("b", nil, pod("r", "4", since(2)))}, "b: r"},
		{"where no budget minds", pod("p", "2", priority(10)),
			[]*Node{on("a", nil, pod("kept", "4")), on("b", nil, pod("r", "2", priority(1)), pod("s", "2", priority(1)))}, "b: s"},
		{"of two, the one that no budget keeps", pod("p", "2", priority(10)),
			[]*Node{on("a", nil, pod("kept", "2"), pod("r", "2", priority(1)))}, "a: r"},
		{"not for one that is no more important", pod("p", "2", priority(10)), []*Node{on("a", nil, pod("q", "4", priority(10)))},
			"0/1 nodes are available: 1 No preemption victims found for incoming pod."},
		{"not where it would not help", pod("p", "5", priority(10)), []*Node{on("a", nil, pod("q", "4"))},
			"0/1 nodes are available: 1 Preemption is not helpful for scheduling."},
		{"not enough of them", pod("p", "2", priority(10)), []*Node{on("a", nil, pod("q", "3", priority(10)), pod("r", "1"))},
			"0/1 nodes are available: 1 Insufficient cpu."},
		{"not for who never has others leave", pod("p", "2", priority(10), never), []*Node{on("a", nil, pod("q", "4"))},
			"not eligible due to preemptionPolicy=Never."},
		{"those that have its port", pod("p", "1", priority(10), hostPort80("")), []*Node{on("a", nil,
			pod("q", "1", priority(3)), pod("r", "1", hostPort80("")), pod("s", "1", priority(2)),
		)}, "a: r"},
		{"those that have what it needs", pod("p", "", priority(10), gpus("2")), []*Node{on("a", func(n *corev1.Node) {
			n.Status.Allocatable["example.com/gpu"] = resource.MustParse("3")
		}, pod("q", "1", gpus("1"), priority(3)), pod("r", "1", gpus("1")), pod("s", "1", gpus("1")), pod("t", "1"))}, "a: r s"},
		{"whom it must not be near to", pod("p", "1", priority(10), far("q", corev1.LabelHostname)), []*Node{on("a", nil, pod("q", "1"))}, "a: q"},
		{"who must not be near to it", pod("p", "1", priority(10)), []*Node{on("a", nil, pod("q", "1", far("p", corev1.LabelHostname)))}, "a: q"},
	} {
		d := world{nodes: c.nodes, budgets: []*policyv1.PodDisruptionBudget{budget}}.decide(c.pod)
		_, got, _ := strings.Cut(d.Message, " preemption: ")
		if d.Promise != "" {
			got = d.Promise + ":"
			for _, victim := range d.Victims {
				got += " " + victim.Name
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q (%s)", c.name, got, c.want, d.Message)
		}
	}
}

func TestWhatIsPromisedToMoreImportantPodsIsTheirs(t *testing.T) {
	t.Parallel()
	a := on("a", nil)
	a.Promised = []*Pod{NewPod(pod("promised", "3", priority(5)))}
	for _, c := range []struct {
		priority int32
		want     string
	}{{1, ""}, {5, ""}, {6, "a"}} {
		if d := (world{nodes: []*Node{a}}).decide(pod("p", "2", priority(c.priority))); d.Node != c.want {
			t.Errorf("a pod of priority %d goes to %q, want %q (%s)", c.priority, d.Node, c.want, d.Message)
		}
	}
	if d := (world{nodes: []*Node{a}}).decide(a.Promised[0].Pod); d.Node != "a" {
		t.Errorf("the pod that it is promised to does not get it: %s", d.Message)
	}
}

func TestOfManyNodesEachHasItsTurn(t *testing.T) {
	t.Parallel()
	var w world
	for i := range 400 {
		w.nodes = append(w.nodes, on(fmt.Sprintf("node-%03d", i), nil))
	}
	d := w.decide(pod("p", "1"))
	if d.Node != "node-000" || d.Looked != 188 { // 50 - 400/125 percent
		t.Errorf("of 400 nodes %d were looked at, and %s was chosen", d.Looked, d.Node)
	}
}
