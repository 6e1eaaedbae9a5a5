package scheduler

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// BenchmarkDecide measures a decision among 5,000 nodes with two pods each.
func BenchmarkDecide(b *testing.B) {
	var w fixture
	for i := range 5_000 {
		name := fmt.Sprintf("node-%04d", i)
		w.nodes = append(w.nodes, on(name, labelled(corev1.LabelOSStable, "linux"), pod(name+"-a", "100m"),
			pod(name+"-b", "200m")))
	}
	p := pod("p", "100m")
	p.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "linux"}
	for b.Loop() {
		if d := w.decide(p); d.Node == "" {
			b.Fatal(d.Message)
		}
	}
}

// BenchmarkDecideApart adds anti-affinity, which allows one pod of an application per node, and preferred
// affinity between the pods.
func BenchmarkDecideApart(b *testing.B) {
	var w fixture
	apart := func(p *corev1.Pod) {
		p.Labels["app"] = "db"
		far("db", corev1.LabelHostname)(p)
		near := corev1.WeightedPodAffinityTerm{Weight: 1, PodAffinityTerm: podsOf("db", corev1.LabelHostname)}
		p.Spec.Affinity.PodAffinity = &corev1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{near},
		}
	}
	for i := range 5_000 {
		name := fmt.Sprintf("node-%04d", i)
		pods := []*corev1.Pod{pod(name+"-a", "100m")}
		if i%10 > 0 {
			pods = append(pods, pod(name+"-b", "200m", apart))
		}
		w.nodes = append(w.nodes, on(name, nil, pods...))
	}
	p := pod("p", "100m", apart)
	for b.Loop() {
		if d := w.decide(p); d.Node == "" {
			b.Fatal(d.Message)
		}
	}
}

// BenchmarkPreempt measures a preemption on full nodes.
func BenchmarkPreempt(b *testing.B) {
	var w fixture
	for i := range 1_000 {
		var pods []*corev1.Pod
		for j := range 100 {
			pods = append(pods, pod(fmt.Sprintf("%d-%d", i, j), "40m"))
		}
		w.nodes = append(w.nodes, on(fmt.Sprintf("node-%04d", i), func(n *corev1.Node) {
			n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
		}, pods...))
	}
	p := pod("p", "1", priority(10))
	for b.Loop() {
		if d := w.decide(p); len(d.Victims) == 0 {
			b.Fatal(d.Message)
		}
	}
}
