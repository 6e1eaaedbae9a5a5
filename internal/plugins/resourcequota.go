package plugins

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/quota"
)

var resourceQuotas = schema.GroupResource{Resource: "resourcequotas"}

// ResourceQuota rejects writes that would exceed a ResourceQuota of their namespace, and adds what the others use to
// the quota's status in the same commit. If many writers race for the rest of a quota, exactly as many succeed as it
// permits. A quota limits nothing until the resourcequota controller has counted its usage for the first time.
type ResourceQuota struct{}

// Name implements admission.Plugin.
func (ResourceQuota) Name() string { return "ResourceQuota" }

// Handles implements admission.Plugin. Most objects are only counted, so an update of them uses nothing. Events, and
// what is not stored, are not counted.
func (ResourceQuota) Handles(op admission.Operation, gr schema.GroupResource, sub string) bool {
	switch gr.Group {
	case "authentication.k8s.io", "authorization.k8s.io", "events.k8s.io":
		return false
	case "":
		if gr.Resource == "events" || gr.Resource == "bindings" {
			return false
		}
	}
	switch {
	case op == admission.Create:
		return sub == ""
	case op == admission.Update && gr == pods:
		return sub == "" || sub == "resize"
	case op == admission.Update && (gr == services || gr == volumeClaims):
		return sub == ""
	}
	return false
}

// Admit implements admission.Plugin.
func (ResourceQuota) Admit(context.Context, *admission.Attributes, admission.Reader) error {
	return nil
}

// Validate implements admission.Plugin. The check of the state that readers see rejects most writes early, and dry runs
// at all; the check in the commit decides.
func (ResourceQuota) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	if a.Namespace == "" {
		return nil
	}
	resource := a.Resource.GroupResource()
	if a.ServedKind != nil { // other groups may serve it, too
		resource = a.ServedKind.Info().GroupResource()
	}
	write := quota.Write{Resource: resource, Object: a.Object, Now: time.Now()}
	if a.Old != nil {
		write.Old = a.Old
		isUpdate := resource == pods && a.Subresource == ""
		if isUpdate && !kind.HasInitializers(a.Old) && !write.ChangesScope() {
			return nil
		}
	}
	var rejected error
	err := state.List(ctx, resourceQuotas, a.Namespace, func(obj admission.Object) bool {
		q, ok := obj.(*corev1.ResourceQuota)
		if !ok {
			return true
		}
		err := write.Check(q)
		var used corev1.ResourceList
		if err == nil {
			used, err = write.Charge(q)
		}
		switch {
		case err != nil:
			rejected = a.Forbidden("%v", err)
		case used != nil && a.Also != nil:
			rejected = a.Also(resourceQuotas, a.Namespace, q.Name, charge(a, &write))
		}
		return rejected == nil
	})
	if err != nil {
		return err
	}
	return rejected
}

// charge returns the change of a quota that the write causes. Unlike other functions, it may use a when Validate has
// returned: the commit is part of the write.
func charge(a *admission.Attributes, write *quota.Write) func(admission.Object) (admission.Object, error) {
	return func(newest admission.Object) (admission.Object, error) {
		q, ok := newest.(*corev1.ResourceQuota)
		if !ok {
			return nil, nil
		}
		used, err := write.Charge(q)
		switch {
		case err != nil:
			return nil, a.Forbidden("%v", err)
		case used == nil:
			return nil, nil
		}
		charged := *q
		charged.Status.Used = used
		return &charged, nil
	}
}
