package plugins

import (
	"cmp"
	"context"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/quota"
)

var resourceQuotas = schema.GroupResource{Resource: "resourcequotas"}

// ResourceQuota rejects writes that would exceed a ResourceQuota of their namespace, and adds what the others use to
// the quota's status in the same commit. If many writers race for the rest of a quota, exactly as many succeed as it
// permits. A quota limits nothing until the resourcequota controller has counted its usage for the first time.
type ResourceQuota struct {
	// limited is nil without a configuration.
	limited *quota.Limited
}

// Name implements admission.Plugin.
func (ResourceQuota) Name() string { return "ResourceQuota" }

// Handles implements admission.Plugin. Most objects are only counted, so an update of them uses nothing. Events, and
// what is not stored, are not counted.
func (ResourceQuota) Handles(op admission.Operation, gr schema.GroupResource, sub string) bool {
	if quota.Ignores(gr) {
		return false
	}
	switch {
	case op == admission.Create:
		return sub == ""
	case op == admission.Update && gr == pods:
		return sub == "" || sub == "resize"
	case op == admission.Update && (gr == services || gr == volumeClaims || gr == quota.DeviceClaims):
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
func (p ResourceQuota) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
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
	if p.limited != nil {
		if err := p.checkLimited(ctx, a, &write, state); err != nil {
			return err
		}
	}
	var rejected error
	err := state.List(ctx, resourceQuotas, a.Namespace, func(obj admission.Object) bool {
		q, ok := obj.(*corev1.ResourceQuota)
		if !ok {
			return true
		}
		err := write.Check(q)
		charges := false
		if err == nil {
			charges, err = write.Charges(q)
		}
		switch {
		case err != nil:
			rejected = a.Forbidden("%v", err)
		case charges && a.Also != nil:
			rejected = a.Also(resourceQuotas, a.Namespace, q.Name, charge(a, &write))
		}
		return rejected == nil
	})
	if err != nil {
		return err
	}
	return rejected
}

// checkLimited rejects a write that uses what the configuration limits, unless quotas limit it.
func (p ResourceQuota) checkLimited(ctx context.Context, a *admission.Attributes, write *quota.Write,
	state admission.Reader) error {
	needs := p.limited.NeedsOf(write)
	if needs == nil {
		return nil
	}
	var rejected error
	err := state.List(ctx, resourceQuotas, a.Namespace, func(obj admission.Object) bool {
		if q, ok := obj.(*corev1.ResourceQuota); ok {
			if err := write.Check(q); err != nil {
				rejected = a.Forbidden("%v", err)
			}
			needs.Limit(q)
		}
		return rejected == nil
	})
	if err := cmp.Or(err, rejected); err != nil {
		return err
	}
	switch amounts, scopes := needs.Unmet(); {
	case amounts != "":
		return a.Forbidden("%s", amounts)
	case scopes != "": // as in Kubernetes, not a 403
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Message: scopes,
			Code: http.StatusInternalServerError}}
	}
	return nil
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
