package plugins

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

// ProvisionNamespaces creates the namespace of a new object if it does not exist (Kubernetes' NamespaceAutoProvision).
// The namespace remains if the object is rejected. A dry run creates nothing. The plugin is off by default.
type ProvisionNamespaces struct{}

// Name implements admission.Plugin.
func (ProvisionNamespaces) Name() string { return "NamespaceAutoProvision" }

// Handles implements admission.Plugin.
func (ProvisionNamespaces) Handles(op admission.Operation, resource schema.GroupResource, _ string) bool {
	return op == admission.Create && resource != namespaces
}

// Admit implements admission.Plugin.
func (ProvisionNamespaces) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	if a.DryRun || a.Namespace == "" || a.Provision == nil {
		return nil
	}
	existing, err := state.Get(ctx, namespaces, "", a.Namespace)
	if err == nil && existing == nil {
		err = a.Provision(ctx, a.Namespace)
	}
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsForbidden(err), ctx.Err() != nil:
		return err
	}
	return a.Forbidden("%w", err)
}

// Validate implements admission.Plugin.
func (ProvisionNamespaces) Validate(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}
