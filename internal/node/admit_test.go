package node

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// smallNode returns a node with four cores and room for three pods.
func smallNode() *corev1.Node {
	node := &corev1.Node{}
	node.Labels = map[string]string{"disk": "fast"}
	node.Spec.Taints = []corev1.Taint{
		{Key: "k", Effect: corev1.TaintEffectNoExecute}, {Key: "new", Effect: corev1.TaintEffectNoSchedule},
	}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("1Gi"),
		corev1.ResourcePods: resource.MustParse("3"), "example.com/gpu": resource.MustParse("1"),
	}
	return node
}

// podRequesting returns a pod that requests an amount of a resource and a host port, and tolerates the taint k.
func podRequesting(name, amount string, port int32) *corev1.Pod {
	p := &corev1.Pod{}
	p.Spec.Tolerations = []corev1.Toleration{{Key: "k"}}
	p.Spec.Containers = []corev1.Container{{Name: "web"}}
	if name != "" {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
			corev1.ResourceName(name): resource.MustParse(amount),
		}
	}
	if port != 0 {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: port}, {ContainerPort: 1}}
	}
	return p
}

func TestRefusalsMatchAKubelets(t *testing.T) {
	t.Parallel()
	node := smallNode()
	selects := podRequesting("", "", 0)
	selects.Spec.NodeSelector = map[string]string{"disk": "slow"}
	untolerant := podRequesting("", "", 0)
	untolerant.Spec.Tolerations = nil
	half, port := podRequesting("cpu", "2", 0), podRequesting("", "", 80)
	for _, c := range []struct {
		name            string
		pod             *corev1.Pod
		others          []*corev1.Pod
		reason, message string
	}{
		{"fits", half, []*corev1.Pod{half}, "", ""},
		{"cpu", half, []*corev1.Pod{half, half}, "OutOfcpu",
			"Node didn't have enough resource: cpu, requested: 2000, used: 4000, capacity: 4000"},
		{"memory", podRequesting("memory", "2Gi", 0), nil, "OutOfmemory",
			"Node didn't have enough resource: memory, requested: 2147483648, used: 0, capacity: 1073741824"},
		{"pods", port, []*corev1.Pod{half, half, half}, "OutOfpods",
			"Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3"},
		{"what somebody has made up", podRequesting("example.com/gpu", "2", 0), nil, "OutOfexample.com/gpu",
			"Node didn't have enough resource: example.com/gpu, requested: 2, used: 0, capacity: 1"},
		{"what the node knows nothing of", podRequesting("example.com/other", "2", 0), nil, "", ""},
		{"a port", port, []*corev1.Pod{port}, "NodePorts",
			"Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"},
		{"another port", port, []*corev1.Pod{podRequesting("", "", 81)}, "", ""},
		{"another node", selects, nil, "NodeAffinity",
			"Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"},
		{"a taint", untolerant, nil, "TaintToleration",
			"Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"},
	} {
		var others []demand
		for _, other := range c.others {
			others = append(others, demandOf(other))
		}
		var got refusal
		if r := checkFit(c.pod, demandOf(c.pod), node, others); r != nil {
			got = *r
		}
		if (got != refusal{c.reason, c.message}) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
