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
)

// callError is a webhook that could not be asked, or whose answer is not believed. The failure policy decides about the write.
type callError struct {
	hook string
	err  error
	// code is the status that stands for it where failures are counted.
	code int
}

// refusal is what a webhook says that refuses a write.
type refusal struct{ status *apierrors.StatusError }

// Error implements error.
func (r *refusal) Error() string { return r.status.Error() }

// Error implements error, in Kubernetes' words.
func (e *callError) Error() string {
	return fmt.Sprintf("failed calling webhook %q: %v", e.hook, e.err)
}

// Unwrap gives the reason.
func (e *callError) Unwrap() error { return e.err }

// ask asks the webhook about a write. The error is a callError, a refusal, or the server's own.
func (h *hook) ask(ctx context.Context, s *subject, mutates bool) (*admissionv1.AdmissionResponse, error) {
	if s.a.DryRun && !h.harmless() {
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
		response, err := r.answer(mutates)
		if err != nil {
			return nil, &callError{h.Name, fmt.Errorf("received invalid webhook response: %w", err), http.StatusServiceUnavailable}
		}
		return response, nil
	})
	if err != nil {
		return nil, err
	}
	if !response.Allowed {
		return response, &refusal{webhookerrors.ToStatusErr(h.Name, response.Result)}
	}
	return response, nil
}

// harmless says that the webhook does nothing elsewhere when the write is a dry run.
func (h *hook) harmless() bool {
	e := h.SideEffects
	return e != nil && (*e == admissionregistrationv1.SideEffectClassNone || *e == admissionregistrationv1.SideEffectClassNoneOnDryRun)
}

// send calls the webhook, which is told how long it has. The code is that of the error.
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
	post := client.Post().Body(r.question)
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left > 0 {
			post.Timeout((left + time.Second - 1).Truncate(time.Second))
		}
	}
	if err := post.Do(ctx).Into(r.into); err != nil {
		code = http.StatusServiceUnavailable
		if said, ok := err.(*apierrors.StatusError); ok {
			code = int(said.ErrStatus.Code)
		}
		return code, fmt.Errorf("failed to call webhook: %w", err)
	}
	return 0, nil
}

// settle is the error that a failure means for the write; nil where the webhook is ignored.
func (h *hooks) settle(ctx context.Context, w *hook, err error) error {
	var refused *refusal
	if errors.As(err, &refused) {
		return refused.status
	}
	var failed *callError
	if !errors.As(err, &failed) {
		return err
	}
	if !w.ignores() {
		return apierrors.NewInternalError(failed)
	}
	if ctx.Err() != nil {
		return apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
	}
	h.log.Warn("a webhook failed; its failure policy has the write go on without it",
		"webhook", w.Name, "configuration", w.id.configuration, "error", failed.err)
	return nil
}
