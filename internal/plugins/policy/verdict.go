package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/admission"
)

const (
	// maxWarnings bounds the distinct warnings of all policies for a write. An answer has room for fewer.
	maxWarnings = 4096
	// maxAnnotation is the length of a value of an audit annotation, in bytes, and maxFailures the number of violations
	// that the annotation of all policies lists, as in Kubernetes.
	maxAnnotation, maxFailures = 10 << 10, 50
)

// verdict is what the policies decided about a write.
type verdict struct {
	a *admission.Attributes
	// denied is the first reason for a rejection, and by its author; nil if there is none.
	denied *denial
	by     string
	warned map[string]bool
	// span is the request's. Audit annotations are recorded in it.
	span        trace.Span
	failures    []auditedFailure
	annotations map[string][]string // of the current policy
}

// auditedFailure is an item of the audit annotation that lists violations.
type auditedFailure struct {
	Message           string                                     `json:"message"`
	Policy            string                                     `json:"policy"`
	Binding           string                                     `json:"binding"`
	ExpressionIndex   int                                        `json:"expressionIndex"`
	ValidationActions []admissionregistrationv1.ValidationAction `json:"validationActions"`
}

func newVerdict(ctx context.Context, a *admission.Attributes) *verdict {
	return &verdict{a: a, span: trace.SpanFromContext(ctx)}
}

// add applies the actions of a binding to the result of an evaluation.
func (v *verdict) add(p *policy, b *binding, r result) {
	for _, d := range r.denials {
		for _, action := range b.actions {
			switch action {
			case admissionregistrationv1.Deny:
				v.deny(p, b, d)
			case admissionregistrationv1.Warn:
				v.warn(fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", p.Name,
					b.name, d.message))
			case admissionregistrationv1.Audit:
				if v.span.IsRecording() && len(v.failures) < maxFailures {
					v.failures = append(v.failures, auditedFailure{d.message, p.Name, b.name, d.index,
						b.actions})
				}
			}
		}
	}
	for _, failed := range r.failedAnnotations {
		v.deny(p, b, denial{message: failed})
	}
	if !v.span.IsRecording() {
		return
	}
	for _, one := range r.annotations {
		value := one.value[:min(len(one.value), maxAnnotation)]
		if v.annotations == nil {
			v.annotations = map[string][]string{}
		}
		if !slices.Contains(v.annotations[one.key], value) && len(v.annotations[one.key]) < maxFailures {
			v.annotations[one.key] = append(v.annotations[one.key], value)
		}
	}
}

// endPolicy records the audit annotations of a policy.
func (v *verdict) endPolicy(p *policy) {
	for key, values := range v.annotations {
		v.span.SetAttributes(attribute.String(p.Name+"/"+key, strings.Join(values, ", ")))
	}
	v.annotations = nil
}

// deny records a reason for a rejection; b is nil for an error of the policy itself.
func (v *verdict) deny(p *policy, b *binding, d denial) {
	if v.denied != nil {
		return
	}
	v.denied, v.by = &d, fmt.Sprintf("ValidatingAdmissionPolicy '%s'", p.Name)
	if b != nil {
		v.by += fmt.Sprintf(" with binding '%s'", b.name)
	}
}

// warn adds a warning to the answer, unless it has it already.
func (v *verdict) warn(text string) {
	if v.a.Warn == nil || v.warned[text] || len(v.warned) == maxWarnings {
		return
	}
	if v.warned == nil {
		v.warned = map[string]bool{}
	}
	v.warned[text] = true
	v.a.Warn(text)
}

// answer returns the error for the client, nil if no policy rejects the write.
func (v *verdict) answer() error {
	if len(v.failures) > 0 {
		if text, err := json.Marshal(v.failures); err == nil {
			v.span.SetAttributes(attribute.String("validation.policy.admission.k8s.io/validation_failure", string(text)))
		}
	}
	if v.denied == nil {
		return nil
	}
	message := v.by + " denied request: " + v.denied.message
	err := v.a.Forbidden("%s", message)
	status := &err.ErrStatus
	status.Reason, status.Code = v.denied.reason, http.StatusUnprocessableEntity
	switch status.Reason {
	case metav1.StatusReasonForbidden:
		status.Code = http.StatusForbidden
	case metav1.StatusReasonUnauthorized:
		status.Code = http.StatusUnauthorized
	case metav1.StatusReasonRequestEntityTooLarge:
		status.Code = http.StatusRequestEntityTooLarge
	case "":
		status.Reason = metav1.StatusReasonInvalid
	}
	status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{Message: message})
	return err
}
