package policy

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/cel-go/common/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/bowline-dev/bowline/internal/kind/expression"
)

// denial is a violated validation, or the failure of an evaluation.
type denial struct {
	message string
	reason  metav1.StatusReason // empty for a failure
	// index is that of the validation.
	index int
}

// annotation is an audit annotation.
type annotation struct{ key, value string }

// result is the outcome of an evaluation.
type result struct {
	denials     []denial
	annotations []annotation
	// failedAnnotations are the errors of audit annotations. They reject the write, whatever the binding's actions.
	failedAnnotations []string
}

// evaluate evaluates a policy with variables except for a.variables.
func (d *definition) evaluate(ctx context.Context, a activation) (r result) {
	if expression.Exhausted(ctx) { // or a client could turn this policy off by making another one costly
		return result{denials: []denial{{message: errBudgetUsed.Error()}}}
	}
	c := d.compiled()
	meter := expression.NewMeter(ctx)
	defer meter.Close()
	e := &evaluation{ctx: meter.Context(), activation: a}
	if len(c.variables) > 0 {
		e.variables = e.lazy(c.variables)
	}
	matches, err := e.meetsConditions(c.conditions)
	if err == nil && matches {
		err = e.validate(d, c, &r)
	}
	if err == nil && matches {
		err = e.annotate(d, c, &r)
	}
	if err != nil {
		r = result{denials: []denial{{message: err.Error()}}}
		if d.ignoresFailure() {
			r = result{}
		}
	}
	return r
}

// validate evaluates the validations, and the messages of the violated ones.
func (e *evaluation) validate(d *definition, c *compiled, r *result) error {
	for i := range c.validations {
		value, failure, err := e.run(&c.validations[i])
		switch {
		case err != nil:
			return err
		case failure != nil:
			if !d.ignoresFailure() {
				r.denials = append(r.denials, denial{message: failure.Error(), index: i})
			}
		case value != types.True:
			v := &d.validations[i]
			message, err := e.message(c.messages[i])
			if err != nil {
				err = fmt.Errorf("failed messageExpression: %w", err)
				if d.ignoresFailure() {
					return err
				}
				r.denials = append(r.denials, denial{message: err.Error(), index: i})
				continue
			}
			if message == "" {
				message = strings.TrimSpace(v.Message)
			}
			if message == "" {
				message = "failed expression: " + strings.TrimSpace(v.Expression)
			}
			reason := metav1.StatusReasonInvalid
			if v.Reason != nil {
				reason = *v.Reason
			}
			r.denials = append(r.denials, denial{message, reason, i})
		}
	}
	return nil
}

// message returns the result of a messageExpression, which may be nil. The result is empty if the expression fails, or
// is not suitable for a message.
func (e *evaluation) message(p *plugincel.CompilationResult) (string, error) {
	if p == nil {
		return "", nil
	}
	value, failure, err := e.run(p)
	if err != nil || failure != nil {
		return "", err
	}
	text, _ := value.Value().(string)
	text = strings.TrimSpace(text)
	if len(text) > celconfig.MaxEvaluatedMessageExpressionSizeBytes || strings.Contains(text, "\n") {
		return "", nil
	}
	return text, nil
}

// annotate evaluates the audit annotations.
func (e *evaluation) annotate(d *definition, c *compiled, r *result) error {
	for i := range c.annotations {
		value, failure, err := e.run(&c.annotations[i])
		switch {
		case err != nil:
			return err
		case failure != nil && !d.ignoresFailure():
			r.failedAnnotations = append(r.failedAnnotations, failure.Error())
		case failure == nil:
			text, _ := value.Value().(string) // or null, for no annotation
			if text = strings.TrimSpace(text); text != "" {
				r.annotations = append(r.annotations, annotation{d.annotations[i].Key, text})
			}
		}
	}
	return nil
}
