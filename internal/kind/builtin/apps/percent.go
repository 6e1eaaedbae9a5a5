package apps

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validPercent(s string) bool { return len(validation.IsValidPercent(s)) == 0 }

// validateShare validates a number or percentage of pods.
func validateShare(share intstr.IntOrString, path *field.Path) (errs field.ErrorList) {
	if share.Type == intstr.Int {
		return nonNegative(path, share.IntVal)
	}
	for _, message := range validation.IsValidPercent(share.StrVal) {
		errs = append(errs, field.Invalid(path, share, message))
	}
	return errs
}

// atMostAll checks that a percentage is at most 100 %.
func atMostAll(share intstr.IntOrString, path *field.Path) field.ErrorList {
	if share.Type == intstr.String && validPercent(share.StrVal) && shareValue(share) > 100 {
		return field.ErrorList{field.Invalid(path, share, "must not be greater than 100%")}
	}
	return nil
}

// shareValue returns the number or the percentage. It is 0 if the value is neither.
func shareValue(share intstr.IntOrString) int {
	if share.Type == intstr.Int || !validPercent(share.StrVal) {
		return share.IntValue()
	}
	n, _ := strconv.Atoi(strings.TrimSuffix(share.StrVal, "%")) // if it overflows, n is the largest number
	return n
}
