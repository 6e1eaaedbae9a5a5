package admission

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var namespaces = schema.GroupResource{Resource: "namespaces"}

// immortal are the namespaces that nobody may delete.
var immortal = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}

// NamespaceLifecycle keeps objects out of namespaces that are not there or are being deleted, and the namespaces that
// every cluster needs from being deleted. It decides in Admit, so that a missing namespace is told before anything that is
// wrong with the object.
type NamespaceLifecycle struct{}

// Name implements Plugin.
func (NamespaceLifecycle) Name() string { return "NamespaceLifecycle" }

// Handles implements Plugin.
func (NamespaceLifecycle) Handles(op Operation, resource schema.GroupResource, _ string) bool {
	return op == Create || op == Delete && resource == namespaces
}

// Admit implements Plugin.
func (NamespaceLifecycle) Admit(ctx context.Context, a *Attributes, state Reader) error {
	if a.Operation == Delete {
		if slices.Contains(immortal, a.Name) {
			return a.Forbidden("this namespace may not be deleted")
		}
		return nil
	}
	if a.Namespace == "" || a.Resource.GroupResource() == namespaces {
		return nil
	}
	obj, err := state.Get(ctx, namespaces, "", a.Namespace)
	if err != nil {
		return err
	}
	if obj == nil {
		return apierrors.NewNotFound(namespaces, a.Namespace)
	}
	if ns, ok := obj.(*corev1.Namespace); ok && ns.Status.Phase != corev1.NamespaceTerminating {
		return nil
	}
	return terminating(a)
}

// terminating refuses a create in a namespace that is being deleted.
func terminating(a *Attributes) error {
	err := a.Forbidden("unable to create new content in namespace %s because it is being terminated", a.Namespace)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", a.Namespace),
		Field:   "metadata.namespace",
	}}
	return err
}

// Validate implements Plugin.
func (NamespaceLifecycle) Validate(context.Context, *Attributes, Reader) error { return nil }
