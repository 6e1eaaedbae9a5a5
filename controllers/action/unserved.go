package action

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrUnserved is that a server has not found what it was asked for since it does not serve that, or not as it did: the object may
// be there all the same.
var ErrUnserved = errors.New("it is not served any more as it was")

// Unserved adds ErrUnserved to an error that says that something was not found, but not that it was the object of the name. That
// one is not there a server says of the object; where it serves a kind no more, or no more in the version that it was asked for,
// it says so of the path. All other errors, and nil, it returns as they are.
func Unserved(err error, name string) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	var status apierrors.APIStatus
	details := (*metav1.StatusDetails)(nil)
	if errors.As(err, &status) {
		details = status.Status().Details
	}
	if details == nil || details.Name != name || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return fmt.Errorf("%w: %w", ErrUnserved, err)
	}
	return err
}

// isGone says whether an error that Unserved has seen says that there is no such object.
func isGone(err error) bool { return apierrors.IsNotFound(err) && !errors.Is(err, ErrUnserved) }
