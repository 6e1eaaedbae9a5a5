package plugins

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

var namespaces = schema.GroupResource{Resource: "namespaces"}

// undeletable lists the namespaces that cannot be deleted.
var undeletable = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}

// NamespaceLifecycle rejects creates in namespaces that do not exist or are terminating, and deletes of the
// namespaces that every cluster needs. It checks in Admit, so that a missing namespace is reported before any
// validation error of the object.
type NamespaceLifecycle struct{}

// Name implements admission.Plugin.
func (NamespaceLifecycle) Name() string { return "NamespaceLifecycle" }

// Handles implements admission.Plugin.
func (NamespaceLifecycle) Handles(op admission.Operation, resource schema.GroupResource, _ string) bool {
	return op == admission.Create && resource != localReviews || op == admission.Delete && resource == namespaces
}

// localReviews ask about rights in a namespace, which need not exist.
var localReviews = schema.GroupResource{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}

// Admit implements admission.Plugin.
func (NamespaceLifecycle) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	if a.Operation == admission.Delete {
		if slices.Contains(undeletable, a.Name) {
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
	return terminatingError(a)
}

// terminatingError returns the error for a create in a namespace that is being deleted.
func terminatingError(a *admission.Attributes) error {
	err := a.Forbidden("unable to create new content in namespace %s because it is being terminated", a.Namespace)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", a.Namespace),
		Field:   "metadata.namespace",
	}}
	return err
}

// Validate implements admission.Plugin.
func (NamespaceLifecycle) Validate(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}
