package webhook

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
)

// validating calls the webhooks of ValidatingWebhookConfigurations concurrently.
type validating struct{ hooks }

var _ admission.Plugin = (*validating)(nil)

// Name implements admission.Plugin.
func (*validating) Name() string { return "ValidatingAdmissionWebhook" }

// Handles implements admission.Plugin.
func (*validating) Handles(_ admission.Operation, resource schema.GroupResource, _ string) bool {
	return !isConfiguration(resource)
}

// Admit implements admission.Plugin.
func (*validating) Admit(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// invocation is one call of a webhook: its input and its result.
type invocation struct {
	hook     *hook
	subject  *subject
	response *admissionv1.AdmissionResponse
	err      error
}

// Validate implements admission.Plugin. If several webhooks reject the write, the client gets the error of
// the first in order.
func (v *validating) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	all, err := v.configured(ctx, state)
	if err != nil || len(all) == 0 {
		return err
	}
	ctx = sharedWork(ctx, all)
	var questions []*invocation
	subjects := map[schema.GroupVersion]*subject(nil)
	for _, h := range all {
		gv, concerned, err := h.matches(ctx, a, state)
		if err != nil {
			return err
		}
		if !concerned {
			continue
		}
		s := subjects[gv]
		if s == nil {
			if s, err = newSubject(a, gv); err != nil {
				return err
			}
			if subjects == nil {
				subjects = map[schema.GroupVersion]*subject{}
			}
			subjects[gv] = s
		}
		if ok, err := h.meetsConditions(ctx, s); err != nil {
			return err
		} else if ok {
			questions = append(questions, &invocation{hook: h, subject: s})
		}
	}
	return v.callAll(ctx, a, questions)
}

// callAll calls every webhook and waits for all responses.
func (v *validating) callAll(ctx context.Context, a *admission.Attributes, questions []*invocation) error {
	if len(questions) == 0 {
		return nil
	}
	for _, q := range questions { // encode once, before the goroutines share the subjects
		if _, _, err := q.subject.encode(); err != nil {
			return err
		}
	}
	var calls sync.WaitGroup
	for _, q := range questions {
		calls.Go(func() { v.call(ctx, q) })
	}
	calls.Wait()
	var first error
	var warned []string
	for _, q := range questions {
		warned = warn(a, warned, q.response)
		if err := v.clientError(ctx, q.hook, q.err); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// call calls one webhook. It converts a panic into an error: in this goroutine, no other handler would recover
// it, and the process would exit.
func (v *validating) call(ctx context.Context, q *invocation) {
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			v.log.Error("calling a webhook panicked", "webhook", q.hook.Name, "panic", p, "stack",
				string(debug.Stack()))
			q.err = apierrors.NewInternalError(fmt.Errorf("calling webhook %q panicked: %v", q.hook.Name, p))
		}
		v.counts.observe(q.hook, v.step, q.subject.Write.Operation, time.Since(start), q.err)
	}()
	q.response, q.err = q.hook.call(ctx, q.subject, false)
}

// maxWarnings bounds the distinct warnings of all webhooks of a write. An answer has room for fewer.
const maxWarnings = 4096

// warn passes on the warnings of a response, skipping those in warned. It returns warned with the new ones added.
func warn(a *admission.Attributes, warned []string, r *admissionv1.AdmissionResponse) []string {
	if r == nil || a.Warn == nil {
		return warned
	}
	for _, text := range r.Warnings {
		if len(warned) == maxWarnings {
			break
		}
		if !slices.Contains(warned, text) {
			a.Warn(text)
			warned = append(warned, text)
		}
	}
	return warned
}
