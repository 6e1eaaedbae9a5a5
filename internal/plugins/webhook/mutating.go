package webhook

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/patch"
)

// mutating calls the webhooks of MutatingWebhookConfigurations, one after the other, and applies their
// patches.
type mutating struct{ hooks }

var _ admission.Plugin = (*mutating)(nil)

// Name implements admission.Plugin.
func (*mutating) Name() string { return "MutatingAdmissionWebhook" }

// Handles implements admission.Plugin.
func (*mutating) Handles(_ admission.Operation, resource schema.GroupResource, _ string) bool {
	return !isConfiguration(resource)
}

// Validate implements admission.Plugin.
func (*mutating) Validate(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// rounds holds the state that the second round needs. The second round calls only webhooks with
// reinvocationPolicy IfNeeded whose object was changed after their call.
type rounds struct {
	// reinvocable lists the called webhooks with that policy, and pending those whose object has changed since their
	// call.
	reinvocable, pending []*hook
	// object is the object at the end of the first round: later plugins may have changed it since.
	object runtime.Object
	warned []string
}

// Admit implements admission.Plugin.
func (m *mutating) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	all, err := m.configured(ctx, state)
	if err != nil || len(all) == 0 {
		return err
	}
	var r *rounds
	if a.Round > 0 {
		if r, _ = a.Remembered(m.Name()).(*rounds); r == nil {
			return nil // the first round called no webhook with the policy IfNeeded
		}
		if r.object != nil && !equality.Semantic.DeepEqual(r.object, runtime.Object(a.Object)) {
			r.markChanged()
		}
	}
	ctx = sharedWork(ctx, all)
	for _, h := range all {
		if r, err = m.admit(ctx, h, a, state, r); err != nil {
			return err
		}
	}
	if r != nil && a.Round == 0 && len(r.reinvocable)+len(r.pending) > 0 {
		a.Remember(m.Name(), r)
		if a.Object != nil {
			r.object = a.Object.DeepCopyObject()
		}
	}
	return nil
}

// markChanged marks the reinvocable webhooks called so far for a second call.
func (r *rounds) markChanged() { r.pending, r.reinvocable = append(r.pending, r.reinvocable...), nil }

func (r *rounds) needsCall(h *hook) bool {
	for _, c := range r.pending {
		if c.id == h.id {
			return true
		}
	}
	return false
}

// admit calls one webhook if the write concerns it. r is nil until the first call.
func (m *mutating) admit(ctx context.Context, h *hook, a *admission.Attributes, state admission.Reader,
	r *rounds) (*rounds, error) {
	gv, concerned, err := h.matches(ctx, a, state)
	if err != nil || !concerned || a.Round > 0 && !r.needsCall(h) {
		return r, err
	}
	s, err := newSubject(a, gv)
	if err != nil {
		return r, err
	}
	if ok, err := h.meetsConditions(ctx, s); err != nil || !ok {
		return r, err
	}
	if r == nil {
		r = &rounds{}
	}
	start := time.Now()
	response, err := h.call(ctx, s, true)
	r.warned = warn(a, r.warned, response)
	var changed bool
	if err == nil {
		changed, err = h.apply(s, response)
	}
	m.counts.observe(h, m.step, a.Operation, time.Since(start), err)
	if changed {
		r.markChanged()
		a.Reinvoke = true
	}
	if h.ReinvocationPolicy != nil && *h.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy {
		r.reinvocable = append(r.reinvocable, h)
	}
	return r, m.clientError(ctx, h, err)
}

// apply applies the patch of a response, and reports whether it changed the object.
func (h *hook) apply(s *subject, response *admissionv1.AdmissionResponse) (changed bool, err error) {
	if len(response.Patch) == 0 {
		return false, nil
	}
	var steps jsonpatch.Patch
	if err = kind.CheckJSON(response.Patch); err == nil {
		steps, err = jsonpatch.DecodePatch(response.Patch)
	}
	if err != nil {
		err = fmt.Errorf("received undecodable patch in webhook response: %w", err)
		return false, &callError{h.Name, err, http.StatusServiceUnavailable}
	}
	switch {
	case len(steps) == 0:
		return false, nil
	case s.Now == nil:
		return false, apierrors.NewInternalError(fmt.Errorf(
			"admission webhook %q attempted to modify the object, which is not supported for this operation", h.Name))
	case *response.PatchType != admissionv1.PatchTypeJSONPatch:
		return false, &callError{h.Name, fmt.Errorf("unsupported patch type %q", *response.PatchType),
			http.StatusBadRequest}
	}
	before, _, err := s.encode()
	if err != nil {
		return false, err
	}
	after, err := patch.Steps(steps, before)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	if err := s.set(after); err != nil {
		return false, err
	}
	now, _, err := s.encode() // in JSON, an omitted and an empty field are equal
	return !bytes.Equal(before, now), err
}
