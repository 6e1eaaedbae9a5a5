package validatingadmissionpolicystatus

import (
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

const (
	// maxKinds is the number of kinds that the expressions of a policy are checked against.
	maxKinds = 50
	// maxChecks limits the product of the numbers of kinds and expressions. A check takes up to a millisecond.
	maxChecks = 2_000
	// maxRead limits the product of the number of kinds and the length of all expressions, in bytes.
	maxRead = 512 << 10
	// maxText is the length of all warnings of a policy, in bytes. A warning contains lines of the expression, once for
	// each error in it and for each kind.
	maxText = 512 << 10
)

// maxKindsFor returns the number of kinds that the expressions of a policy are checked against; it is at least 1.
func maxKindsFor(variables []admissionv1.Variable, expressions []expression) int {
	bytes := 0
	for i := range variables {
		bytes += len(variables[i].Expression)
	}
	for _, e := range expressions {
		bytes += len(e.text)
	}
	return max(1, min(maxKinds, maxChecks/max(1, len(variables)+len(expressions)), maxRead/max(1, bytes)))
}

// expression is an expression of a policy, at the path ref.
type expression struct{ ref, text string }

// expressionsOf returns the expressions that are checked.
func expressionsOf(policy *admissionv1.ValidatingAdmissionPolicy) (all []expression) {
	path := field.NewPath("spec", "validations")
	for i, v := range policy.Spec.Validations {
		all = append(all, expression{path.Index(i).Child("expression").String(), v.Expression})
		if v.MessageExpression != "" {
			all = append(all, expression{path.Index(i).Child("messageExpression").String(), v.MessageExpression})
		}
	}
	return all
}

// warningsOf returns the warnings for the expressions whose result is not empty. Each may have an equal share of
// maxText.
func warningsOf(expressions []expression, results []string) (warnings []admissionv1.ExpressionWarning) {
	for i, text := range results {
		if text != "" {
			warnings = append(warnings, admissionv1.ExpressionWarning{
				FieldRef: expressions[i].ref, Warning: shorten(text, max(1, maxText/len(results))),
			})
		}
	}
	return warnings
}

// shorten returns at most the first limit bytes of a text, without a part of a character at the end.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}

// statusOf returns a status with the fields that the controller writes.
func statusOf(generation int64, checked *admissionv1.TypeChecking) admissionv1.ValidatingAdmissionPolicyStatus {
	return admissionv1.ValidatingAdmissionPolicyStatus{ObservedGeneration: generation, TypeChecking: checked}
}

// decide returns the actions that give a policy its status. While wait is positive, a status that another client has
// written is not overwritten.
func decide(policy *admissionv1.ValidatingAdmissionPolicy, next admissionv1.ValidatingAdmissionPolicyStatus,
	wait time.Duration) []action.Action {
	switch {
	case !unchecked(policy):
		return nil
	case wait > 0:
		return []action.Action{action.Requeue{After: wait}}
	}
	return []action.Action{applyStatus{policy, next}}
}
