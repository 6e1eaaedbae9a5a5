package plugins

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

// NamespaceExists rejects every write in a namespace that does not exist; NamespaceLifecycle rejects only creates. It
// is off by default.
type NamespaceExists struct{}

// Name implements admission.Plugin.
func (NamespaceExists) Name() string { return "NamespaceExists" }

// Handles implements admission.Plugin.
func (NamespaceExists) Handles(_ admission.Operation, resource schema.GroupResource, _ string) bool {
	return resource != namespaces
}

// Admit implements admission.Plugin.
func (NamespaceExists) Admit(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

// Validate implements admission.Plugin.
func (NamespaceExists) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	if a.Namespace == "" {
		return nil
	}
	obj, err := state.Get(ctx, namespaces, "", a.Namespace)
	if err == nil && obj == nil {
		err = apierrors.NewNotFound(namespaces, a.Namespace)
	}
	return err
}
