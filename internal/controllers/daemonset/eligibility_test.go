package daemonset

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestNodeEligibility(t *testing.T) {
	t.Parallel()
	taint := func(key string, effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: key, Effect: effect}} }
	}
	tolerates := func(ts ...corev1.Toleration) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) { s.Tolerations = ts }
	}
	on := func(r ...corev1.NodeSelectorRequirement) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) {
			s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: r}},
				},
			}}
		}
	}
	for name, c := range map[string]struct {
		node        func(*corev1.Node)
		spec        func(*corev1.PodSpec)
		should, may bool
	}{
		"every node":           {should: true, may: true},
		"another node by name": {spec: func(s *corev1.PodSpec) { s.NodeName = "other" }},
		"this node by name":    {spec: func(s *corev1.PodSpec) { s.NodeName = "n" }, should: true, may: true},
		"a label that is there": {spec: func(s *corev1.PodSpec) {
			s.NodeSelector = map[string]string{"disk": "ssd"}
		}, should: true, may: true},
		"a label that is not": {spec: func(s *corev1.PodSpec) {
			s.NodeSelector = map[string]string{"disk": "hdd"}
		}},
		"an affinity that holds": {spec: on(corev1.NodeSelectorRequirement{Key: "cores", Operator: "Gt",
			Values: []string{"4"}}), should: true, may: true},
		"an affinity that does not": {spec: on(corev1.NodeSelectorRequirement{Key: "cores", Operator: "Lt",
			Values: []string{"4"}})},
		"an affinity that is nonsense": {spec: on(corev1.NodeSelectorRequirement{Key: "cores", Operator: "Gt",
			Values: []string{"many"}})},
		"no new pods": {node: taint("full", corev1.TaintEffectNoSchedule), may: true},
		"new pods had better stay away": {node: taint("full", corev1.TaintEffectPreferNoSchedule), should: true,
			may: true},
		"pods are driven out": {node: taint("broken", corev1.TaintEffectNoExecute)},
		"driven out but tolerating it": {
			node: taint("broken", corev1.TaintEffectNoExecute), spec: tolerates(corev1.Toleration{Operator: "Exists"}),
			should: true, may: true,
		},
		"a node that is not ready": {node: taint(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
			should: true, may: true},
		"a node under pressure": {node: taint(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
			should: true, may: true},
		"a node that is cordoned": {node: taint(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
			should: true, may: true},
		"no network": {node: taint(corev1.TaintNodeNetworkUnavailable,
			corev1.TaintEffectNoSchedule), may: true},
		"no network and no need for one": {node: taint(corev1.TaintNodeNetworkUnavailable,
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
			if is := eligibilityOf(template).of(node); is != (nodeMatch{true, c.should, c.may}) {
				t.Errorf("should be there %v, may stay %v; want %v, %v", is.shouldRun, is.mayRun, c.should, c.may)
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
		t.Errorf("%+v", got)
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
		if got := share(&of, c.whole); got != c.want {
			t.Errorf("%s of %d is %d, want %d", c.of, c.whole, got, c.want)
		}
	}
}
