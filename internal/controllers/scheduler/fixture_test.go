package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// fixture is a set of nodes with pods, built by the functions below.
type fixture struct {
	nodes      []*Node
	budgets    []*policyv1.PodDisruptionBudget
	namespaces map[string]labels.Set
}

// on returns a node of four cores and 8 GiB with the given pods.
func on(name string, change func(*corev1.Node), pods ...*corev1.Pod) *Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
		Labels: map[string]string{corev1.LabelHostname: name}}}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods: resource.MustParse("10"),
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

// pod returns a pod that requests an amount of CPU, such as "500m".
func pod(name, cpu string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name),
		Labels: map[string]string{"app": name}}}
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

// decide returns the decision for a pod.
func (w fixture) decide(pod *corev1.Pod) Decision {
	antiAffinity, affinity := false, false
	for _, n := range w.nodes {
		antiAffinity, affinity = antiAffinity || len(n.antiAffinity) > 0, affinity || len(n.affinity) > 0
	}
	return Decide(Input{
		Pod: NewPod(pod), Nodes: w.nodes, AntiAffinity: antiAffinity, Affinity: affinity,
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

func hostPort80(ip string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80, HostIP: ip}}
	}
}

func podsOf(app, key string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: key,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
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
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
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
