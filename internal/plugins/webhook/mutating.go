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
	"github.com/bowline-dev/bowline/internal/patch"
)

// mutating asks the webhooks of MutatingWebhookConfigurations, one after the other, and applies their patches.
type mutating struct{ hooks }

var _ admission.Plugin = (*mutating)(nil)

// Name implements admission.Plugin.
func (*mutating) Name() string { return "MutatingAdmissionWebhook" }

// Handles implements admission.Plugin.
func (*mutating) Handles(_ admission.Operation, resource schema.GroupResource, _ string) bool {
	return !asksNobody(resource)
}

// Validate implements admission.Plugin.
func (*mutating) Validate(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// rounds is what is remembered from the first round to the second, in which only webhooks are asked that want to see what
// others changed after them.
type rounds struct {
	// asked are such webhooks that were asked; changed are those of them after which the object changed.
	asked, changed []*hook
	// left is the object as the first round left it: other plugins may have changed it since.
	left runtime.Object
	said []string
}

// Admit implements admission.Plugin.
func (m *mutating) Admit(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	all, err := m.now(ctx, state)
	if err != nil || len(all) == 0 {
		return err
	}
	var r *rounds
	if a.Round > 0 {
		if r, _ = a.Memory.(*rounds); r == nil {
			return nil // no webhook was asked that wants to see more
		}
		if r.left != nil && !equality.Semantic.DeepEqual(r.left, runtime.Object(a.Object)) {
			r.objectChanged()
		}
	}
	for _, h := range all {
		if r, err = m.admit(ctx, h, a, state, r); err != nil {
			return err
		}
	}
	if r != nil && a.Round == 0 && len(r.asked)+len(r.changed) > 0 {
		a.Memory = r
		if a.Object != nil {
			r.left = a.Object.DeepCopyObject()
		}
	}
	return nil
}

// objectChanged has the webhooks asked again that were asked before and want that.
func (r *rounds) objectChanged() { r.changed, r.asked = append(r.changed, r.asked...), nil }

func (r *rounds) asksAgain(h *hook) bool {
	for _, c := range r.changed {
		if c.id == h.id {
			return true
		}
	}
	return false
}

// admit asks one webhook, where the write concerns it. r is nil until one was asked.
func (m *mutating) admit(ctx context.Context, h *hook, a *admission.Attributes, state admission.Reader, r *rounds) (*rounds, error) {
	gv, concerned, err := h.concerns(ctx, a, state)
	if err != nil || !concerned || a.Round > 0 && !r.asksAgain(h) {
		return r, err
	}
	s, err := newSubject(a, gv)
	if err != nil {
		return r, err
	}
	if ok, err := h.meets(ctx, s); err != nil || !ok {
		return r, err
	}
	if r == nil {
		r = &rounds{}
	}
	begun := time.Now()
	response, err := h.ask(ctx, s, true)
	r.said = warn(a, r.said, response)
	var changed bool
	if err == nil {
		changed, err = h.apply(s, response)
	}
	m.counts.asked(h, m.step, a.Operation, time.Since(begun), err)
	if changed {
		r.objectChanged()
		a.AskAgain()
	}
	if h.ReinvocationPolicy != nil && *h.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy {
		r.asked = append(r.asked, h)
	}
	return r, m.settle(ctx, h, err)
}

// apply applies the patch of an answer, and says whether it changed the object.
func (h *hook) apply(s *subject, response *admissionv1.AdmissionResponse) (changed bool, err error) {
	if len(response.Patch) == 0 {
		return false, nil
	}
	steps, err := jsonpatch.DecodePatch(response.Patch)
	if err != nil {
		err = fmt.Errorf("received undecodable patch in webhook response: %w", err)
		return false, &callError{h.Name, err, http.StatusServiceUnavailable}
	}
	switch {
	case len(steps) == 0:
		return false, nil
	case s.now == nil:
		return false, apierrors.NewInternalError(fmt.Errorf(
			"admission webhook %q attempted to modify the object, which is not supported for this operation", h.Name))
	case *response.PatchType != admissionv1.PatchTypeJSONPatch:
		return false, &callError{h.Name, fmt.Errorf("unsupported patch type %q", *response.PatchType), http.StatusBadRequest}
	}
	before, _, err := s.texts()
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
	now, _, err := s.texts() // in which nothing is nothing, be it left out or empty
	return !bytes.Equal(before, now), err
}
