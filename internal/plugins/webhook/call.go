package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	webhookerrors "k8s.io/apiserver/pkg/admission/plugin/webhook/errors"

	"github.com/bowline-dev/bowline/internal/kind/caller"
)

// callError is a failed call: the webhook was not reachable, or its response was invalid. The failure policy
// decides whether the write continues.
type callError struct {
	hook string
	err  error
	// code is the status code under which metrics count the failure.
	code int
}

// rejection is the error for a write that a webhook rejected.
type rejection struct{ status *apierrors.StatusError }

// Error implements error.
func (r *rejection) Error() string { return r.status.Error() }

// Error implements error with Kubernetes' wording.
func (e *callError) Error() string {
	return fmt.Sprintf("failed calling webhook %q: %v", e.hook, e.err)
}

// Unwrap returns the cause.
func (e *callError) Unwrap() error { return e.err }

// call sends the write to the webhook. The error is a *callError, a *rejection, or an internal error of the
// server.
func (h *hook) call(ctx context.Context, s *subject, mutates bool) (*admissionv1.AdmissionResponse, error) {
	if s.Write.DryRun && !h.supportsDryRun() {
		return nil, webhookerrors.NewDryRunUnsupportedErr(h.Name)
	}
	r, err := newReview(h.AdmissionReviewVersions, s)
	if err != nil {
		return nil, &callError{h.Name, fmt.Errorf("could not create admission objects: %w", err), http.StatusBadRequest}
	}
	response, err := h.traced(ctx, r, func(ctx context.Context) (*admissionv1.AdmissionResponse, error) {
		if code, err := h.send(ctx, r); err != nil {
			return nil, &callError{h.Name, err, code}
		}
		response, err := r.result(mutates)
		if err != nil {
			return nil, &callError{h.Name, fmt.Errorf("received invalid webhook response: %w", err),
				http.StatusServiceUnavailable}
		}
		return response, nil
	})
	if err != nil {
		return nil, err
	}
	if !response.Allowed {
		return response, &rejection{webhookerrors.ToStatusErr(h.Name, response.Result)}
	}
	return response, nil
}

// supportsDryRun reports whether the webhook has no side effects for a dry run.
func (h *hook) supportsDryRun() bool {
	e := h.SideEffects
	return e != nil && (*e == admissionregistrationv1.SideEffectClassNone ||
		*e == admissionregistrationv1.SideEffectClassNoneOnDryRun)
}

// send posts the review to the webhook, with the remaining time as the timeout parameter. code is the status
// code of an error.
func (h *hook) send(ctx context.Context, r *review) (code int, err error) {
	client, err := h.caller.Client()
	if err != nil {
		return http.StatusInternalServerError, fmt.Errorf("could not get REST client: %w", err)
	}
	timeout := defaultTimeout
	if h.TimeoutSeconds != nil {
		timeout = time.Duration(*h.TimeoutSeconds) * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	post := client.Post().Body(r.request)
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left > 0 {
			post.Timeout((left + time.Second - 1).Truncate(time.Second))
		}
	}
	if err := caller.Into(post.Do(ctx), r.response, 1); err != nil {
		code = http.StatusServiceUnavailable
		if status, ok := err.(*apierrors.StatusError); ok {
			code = int(status.ErrStatus.Code)
		}
		return code, fmt.Errorf("failed to call webhook: %w", err)
	}
	return 0, nil
}

// clientError maps an error of call or apply to the error for the client. It returns nil if the failure policy ignores
// the failure.
func (h *hooks) clientError(ctx context.Context, w *hook, err error) error {
	var refused *rejection
	if errors.As(err, &refused) {
		return refused.status
	}
	var failed *callError
	if !errors.As(err, &failed) {
		return err
	}
	if !w.ignoresFailure() {
		return apierrors.NewInternalError(failed)
	}
	if ctx.Err() != nil {
		return apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
	}
	h.log.Warn("webhook failed; the write continues because of its failure policy",
		"webhook", w.Name, "configuration", w.id.configuration, "error", failed.err)
	return nil
}
