package core

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

func TestBindingsAreOnlyCreated(t *testing.T) {
	t.Parallel()
	k := bindingKind(object.NewCache(1))
	info := k.Info()
	if info.Plural != "bindings" || info.Singular != "binding" || !info.Namespaced ||
		!slices.Equal(info.ServedVerbs(), []string{"create"}) {
		t.Errorf("bindings: %+v", info)
	}
	b := read(t, k, "v1", `{"metadata": {"name": "p"}, "target": {"name": "n"}}`).(*corev1.Binding)
	pod := newPod(t, ``)
	if err := podBinding.Apply(pod, b); err != nil || pod.Spec.NodeName != "n" {
		t.Errorf("the pod is on node %q: %v", pod.Spec.NodeName, err)
	}
}
