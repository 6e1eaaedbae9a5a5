package kind

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// maxCauses is the number of errors that an answer lists. The time that apierrors.NewInvalid takes grows with the
	// square of their number.
	maxCauses = 100
	// maxQuoted is the number of bytes that an error quotes of a value.
	maxQuoted = 4 << 10
)

// NewInvalid returns the 422 of an invalid object, as apierrors.NewInvalid does. It lists at most 100 errors and counts
// the others, and shortens long values, so that the answer to a hostile object is small.
func NewInvalid(of schema.GroupKind, name string, errs field.ErrorList) *apierrors.StatusError {
	listed, more := LimitErrors(errs)
	invalid := apierrors.NewInvalid(of, shortened(name), listed)
	if more > 0 {
		rest := fmt.Sprintf("%d more errors are not listed", more)
		s := &invalid.ErrStatus
		s.Message += ", and " + rest
		s.Details.Causes = append(s.Details.Causes,
			metav1.StatusCause{Type: metav1.CauseType(field.ErrorTypeTooMany), Message: rest})
	}
	return invalid
}

// LimitErrors returns the errors that an answer lists, with long values shortened, and the number of the others. It
// does not change errs.
func LimitErrors(errs field.ErrorList) (listed field.ErrorList, more int) {
	if more = len(errs) - maxCauses; more > 0 {
		errs = errs[:maxCauses]
	}
	for i, err := range errs {
		if len(err.Field) <= maxQuoted && len(err.Detail) <= maxQuoted && len(err.ErrorBody()) <= 2*maxQuoted {
			continue
		}
		if i >= len(listed) {
			listed = append(listed, errs[len(listed):i]...)
		}
		short := *err
		short.Field, short.Detail = shortened(err.Field), shortened(err.Detail)
		if text, ok := err.BadValue.(string); ok {
			short.BadValue = shortened(text)
		} else {
			short.BadValue = field.OmitValueType{}
		}
		listed = append(listed, &short)
	}
	if len(listed) == 0 {
		return errs, max(more, 0)
	}
	return append(listed, errs[len(listed):]...), max(more, 0)
}

// shortened returns the start of a text that is too long to be quoted.
func shortened(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return fmt.Sprintf("%s... (%d bytes)", text[:maxQuoted], len(text))
}
