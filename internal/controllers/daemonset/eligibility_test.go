package daemonset

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// tainted returns a change of a node that adds a taint.
func tainted(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: key, Effect: effect}} }
}

// tolerating returns a change of a pod that adds tolerations.
func tolerating(tolerations ...corev1.Toleration) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) { s.Tolerations = tolerations }
}

// requiring returns a change of a pod that requires labels of the node.
func requiring(labels ...corev1.NodeSelectorRequirement) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: labels}},
			},
		}}
	}
}

func TestNodeEligibility(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		node        func(*corev1.Node)
		spec        func(*corev1.PodSpec)
		should, may bool
	}{
		"every node":           {should: true, may: true},
		"another node by name": {spec: func(s *corev1.PodSpec) { s.NodeName = "other" }},
		"this node by name":    {spec: func(s *corev1.PodSpec) { s.NodeName = "n" }, should: true, may: true},
		"matching node selector": {spec: func(s *corev1.PodSpec) {
			s.NodeSelector = map[string]string{"disk": "ssd"}
		}, should: true, may: true},
		"other node selector": {spec: func(s *corev1.PodSpec) {
			s.NodeSelector = map[string]string{"disk": "hdd"}
		}},
		"matching affinity": {spec: requiring(corev1.NodeSelectorRequirement{Key: "cores", Operator: "Gt",
			Values: []string{"4"}}), should: true, may: true},
		"other affinity": {spec: requiring(corev1.NodeSelectorRequirement{Key: "cores", Operator: "Lt",
			Values: []string{"4"}})},
		"invalid affinity": {spec: requiring(corev1.NodeSelectorRequirement{Key: "cores", Operator: "Gt",
			Values: []string{"many"}})},
		"NoSchedule taint": {node: tainted("full", corev1.TaintEffectNoSchedule), may: true},
		"PreferNoSchedule taint": {node: tainted("full", corev1.TaintEffectPreferNoSchedule), should: true,
			may: true},
		"NoExecute taint": {node: tainted("broken", corev1.TaintEffectNoExecute)},
		"tolerated NoExecute taint": {
			node:   tainted("broken", corev1.TaintEffectNoExecute),
			spec:   tolerating(corev1.Toleration{Operator: "Exists"}),
			should: true, may: true,
		},
		"not-ready node": {node: tainted(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
			should: true, may: true},
		"node under memory pressure": {node: tainted(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
			should: true, may: true},
		"cordoned node": {node: tainted(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
			should: true, may: true},
		"node without network": {node: tainted(corev1.TaintNodeNetworkUnavailable,
			corev1.TaintEffectNoSchedule), may: true},
		"node without network, host network pod": {node: tainted(corev1.TaintNodeNetworkUnavailable,
			corev1.TaintEffectNoSchedule), spec: func(s *corev1.PodSpec) {
			s.HostNetwork = true
		}, should: true, may: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n",
				Labels: map[string]string{"disk": "ssd", "cores": "8"}}}
			if c.node != nil {
				c.node(node)
			}
			template := &corev1.PodTemplateSpec{}
			if c.spec != nil {
				c.spec(&template.Spec)
			}
			if is := eligibilityOf(template).match(node); is != (nodeMatch{true, c.should, c.may}) {
				t.Errorf("got shouldRun %v, mayRun %v; want %v, %v", is.shouldRun, is.mayRun, c.should, c.may)
			}
		})
	}
}

func TestDaemonsTolerateNodeConditions(t *testing.T) {
	t.Parallel()
	brief := corev1.Toleration{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists,
		Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(5))}
	own := corev1.Toleration{Key: "mine", Operator: corev1.TolerationOpExists}
	got := templateTolerations(&corev1.PodSpec{Tolerations: []corev1.Toleration{brief, own}})
	if len(got) != 7 || got[0].TolerationSeconds != nil || got[1] != own {
		t.Errorf("got %+v, want 7 tolerations, the first without a limit and the second %+v", got, own)
	}
}

func TestPercentagesAreRoundedUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of    string
		whole int
		want  int
	}{{"2", 5, 2}, {"10%", 5, 1}, {"50%", 5, 3}, {"0%", 5, 0}, {"some", 5, 0}} {
		of := intstr.Parse(c.of)
		if got := scaledValue(&of, c.whole); got != c.want {
			t.Errorf("%s of %d: got %d, want %d", c.of, c.whole, got, c.want)
		}
	}
}
