package action

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrUnserved is that something was not found, which is not the object that was asked for, but what is on the way to it: the
// server does not serve its kind, or not as it did, or the namespace is not there. The object may be there all the same.
var ErrUnserved = errors.New("it is not served any more as it was")

// Unserved adds ErrUnserved to an error that says that something was not found, but not that it was the object of that name in
// a resource. That one is not there a server says of the object; where it serves a kind no more, or no more in the version that
// it was asked for, it says so of the path, and a webhook or a namespace speaks of something else, which may have the same name.
// All other errors, and nil, it returns as they are.
func Unserved(err error, in schema.GroupVersionResource, name string) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	var status apierrors.APIStatus
	details := (*metav1.StatusDetails)(nil)
	if errors.As(err, &status) {
		details = status.Status().Details
	}
	if details == nil || details.Name != name || !isIn(in, details.Kind) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return fmt.Errorf("%w: %w", ErrUnserved, err)
	}
	return err
}

// isIn says whether what a server calls the kind of an object is that of a resource: it tells the resource, that with a
// subresource, or the kind itself; where it tells nothing, it is.
func isIn(in schema.GroupVersionResource, told string) bool {
	told, _, _ = strings.Cut(strings.ToLower(told), "/")
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: told})
	return told == "" || told == in.Resource || plural.Resource == in.Resource
}

// IsGone says whether an error that Unserved has returned says that there is no such object.
func IsGone(err error) bool { return apierrors.IsNotFound(err) && !errors.Is(err, ErrUnserved) }
