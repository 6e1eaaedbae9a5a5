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

// validating asks the webhooks of ValidatingWebhookConfigurations, all at once.
type validating struct{ hooks }

var _ admission.Plugin = (*validating)(nil)

// Name implements admission.Plugin.
func (*validating) Name() string { return "ValidatingAdmissionWebhook" }

// Handles implements admission.Plugin.
func (*validating) Handles(_ admission.Operation, resource schema.GroupResource, _ string) bool {
	return !asksNobody(resource)
}

// Admit implements admission.Plugin.
func (*validating) Admit(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// question is one webhook, what it is asked about, and what it said.
type question struct {
	hook     *hook
	subject  *subject
	response *admissionv1.AdmissionResponse
	err      error
}

// Validate implements admission.Plugin. Of several refusals the first by the order of the webhooks counts.
func (v *validating) Validate(ctx context.Context, a *admission.Attributes, state admission.Reader) error {
	all, err := v.now(ctx, state)
	if err != nil {
		return err
	}
	var questions []*question
	subjects := map[schema.GroupVersion]*subject(nil)
	for _, h := range all {
		gv, concerned, err := h.concerns(ctx, a, state)
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
		if ok, err := h.meets(ctx, s); err != nil {
			return err
		} else if ok {
			questions = append(questions, &question{hook: h, subject: s})
		}
	}
	return v.askAll(ctx, a, questions)
}

// askAll asks every webhook, and waits for all answers.
func (v *validating) askAll(ctx context.Context, a *admission.Attributes, questions []*question) error {
	if len(questions) == 0 {
		return nil
	}
	for _, q := range questions { // once, before they are shared
		if _, _, err := q.subject.texts(); err != nil {
			return err
		}
	}
	var asked sync.WaitGroup
	for _, q := range questions {
		asked.Go(func() { v.ask(ctx, q) })
	}
	asked.Wait()
	var first error
	var said []string
	for _, q := range questions {
		said = warn(a, said, q.response)
		if err := v.settle(ctx, q.hook, q.err); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// ask asks one webhook. A panic is its answer: nobody above this goroutine would catch it, and the server would end.
func (v *validating) ask(ctx context.Context, q *question) {
	begun := time.Now()
	defer func() {
		if p := recover(); p != nil {
			v.log.Error("asking a webhook panicked", "webhook", q.hook.Name, "panic", p, "stack", string(debug.Stack()))
			q.err = apierrors.NewInternalError(fmt.Errorf("asking webhook %q panicked: %v", q.hook.Name, p))
		}
		v.counts.asked(q.hook, v.step, q.subject.a.Operation, time.Since(begun), q.err)
	}()
	q.response, q.err = q.hook.ask(ctx, q.subject, false)
}

// warn passes the warnings of an answer on, each once.
func warn(a *admission.Attributes, said []string, r *admissionv1.AdmissionResponse) []string {
	if r == nil || a.Warn == nil {
		return said
	}
	for _, text := range r.Warnings {
		if !slices.Contains(said, text) {
			a.Warn(text)
			said = append(said, text)
		}
	}
	return said
}
