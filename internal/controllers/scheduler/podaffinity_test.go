package scheduler

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The pod, in the namespace default, has anti-affinity to pods app=q of other namespaces, or they have it to
// the pod.
func TestAffinityTermNamespaces(t *testing.T) {
	t.Parallel()
	team := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"team": name}}
	}
	namespaces := map[string]labels.Set{
		"default": {"team": "ours"}, "near": {"team": "ours"}, "other": {"team": "theirs"}, "bare": nil,
	}
	invalid := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "?"}}}
	for _, c := range []struct {
		name       string
		selector   *metav1.LabelSelector
		namespaces []string
		want       string // those of default, near, other, bare and gone that match
	}{
		{"no selector and no names", nil, nil, "default"},
		{"names", nil, []string{"near", "gone"}, "near gone"},
		{"selector", team("ours"), nil, "default near"},
		{"names and selector", team("theirs"), []string{"bare"}, "other bare"},
		{"empty selector", &metav1.LabelSelector{}, nil, "default near other bare gone"},
		{"selector of no namespace", team("nobody's"), nil, ""},
		{"invalid selector", invalid, nil, ""},
	} {
		apart := func(of string) func(*corev1.Pod) {
			return func(p *corev1.Pod) {
				far(of, corev1.LabelHostname)(p)
				term := &p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
				term.NamespaceSelector, term.Namespaces = c.selector, c.namespaces
			}
		}
		in := func(namespace string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Namespace = namespace } }
		own, existing := "", ""
		for _, namespace := range []string{"default", "near", "other", "bare", "gone"} {
			w := fixture{namespaces: namespaces, nodes: []*Node{on("a", nil, pod("q", "1", in(namespace)))}}
			if d := w.decide(pod("p", "1", apart("q"))); d.Node == "" {
				own += " " + namespace
			}
			w.nodes = []*Node{on("a", nil, pod("q", "1", apart("p")))}
			if d := w.decide(pod("p", "1", in(namespace))); d.Node == "" {
				existing += " " + namespace
			}
		}
		if c.want != "" {
			c.want = " " + c.want
		}
		if own != c.want || existing != c.want {
			t.Errorf("%s: got own anti-affinity to%s, that of existing pods from%s; want%s", c.name, own, existing,
				c.want)
		}
	}
}
