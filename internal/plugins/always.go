package plugins

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

// AlwaysAdmit does nothing. It exists because command lines name it; it is off by default.
type AlwaysAdmit struct{}

// Name implements admission.Plugin.
func (AlwaysAdmit) Name() string { return "AlwaysAdmit" }

// Handles implements admission.Plugin.
func (AlwaysAdmit) Handles(admission.Operation, schema.GroupResource, string) bool { return false }

// Admit implements admission.Plugin.
func (AlwaysAdmit) Admit(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// Validate implements admission.Plugin.
func (AlwaysAdmit) Validate(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

// AlwaysDeny rejects every write. It is off by default.
type AlwaysDeny struct{}

// Name implements admission.Plugin.
func (AlwaysDeny) Name() string { return "AlwaysDeny" }

// Handles implements admission.Plugin.
func (AlwaysDeny) Handles(admission.Operation, schema.GroupResource, string) bool { return true }

// Admit implements admission.Plugin.
func (AlwaysDeny) Admit(_ context.Context, a *admission.Attributes, _ admission.Reader) error {
	return a.Forbidden("admission control is denying all modifications")
}

// Validate implements admission.Plugin.
func (p AlwaysDeny) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	return p.Admit(ctx, a, state)
}
