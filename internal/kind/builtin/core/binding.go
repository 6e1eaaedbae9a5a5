package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// bindingKind returns the kind of bindings, the older way to assign a pod to a node. A create applies the binding to
// the pod with its name, as the subresource pods/binding does, and stores nothing.
func bindingKind(cache *object.Cache) kind.Kind {
	return kind.NewTyped(cache, kind.Info{
		Kind: "Binding", Plural: "bindings", Singular: "binding",
		Namespaced: true,
		Endpoints:  []kind.Endpoint{{Version: "v1"}},
		Verbs:      []string{"create"},
		Acts:       &kind.Act{Resource: schema.GroupResource{Resource: "pods"}, Subresource: podBinding.Name},
	}, kind.Rules[*corev1.Binding]{})
}
