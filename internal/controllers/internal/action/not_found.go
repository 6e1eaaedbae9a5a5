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

// ErrUnserved wraps a NotFound error that is not about the requested object: its kind is no longer served, or
// not in that version, or its namespace does not exist. The object itself may still exist.
var ErrUnserved = errors.New("the resource is no longer served as it was")

// ClassifyNotFound wraps err in ErrUnserved if it is a NotFound error about anything but the object name of
// the resource in. If the object does not exist, the server's error names it. If the kind or its version is
// not served, the error names only the path, and an error from a webhook or about a namespace names another
// object, possibly of the same name. Other errors, and nil, are returned unchanged.
func ClassifyNotFound(err error, in schema.GroupVersionResource, name string) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	var status apierrors.APIStatus
	details := (*metav1.StatusDetails)(nil)
	if errors.As(err, &status) {
		details = status.Status().Details
	}
	if details == nil || details.Name != name || !namesResource(in, details.Kind) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return fmt.Errorf("%w: %w", ErrUnserved, err)
	}
	return err
}

// namesResource reports whether kind, from the details of a server's error, identifies the resource
// in. Servers return the resource, the resource with a subresource, or the kind; an empty string matches.
func namesResource(in schema.GroupVersionResource, kind string) bool {
	kind, _, _ = strings.Cut(strings.ToLower(kind), "/")
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
	return kind == "" || kind == in.Resource || plural.Resource == in.Resource
}

// IsGone reports whether err, which ClassifyNotFound has returned, means that the object does not exist.
func IsGone(err error) bool { return apierrors.IsNotFound(err) && !errors.Is(err, ErrUnserved) }
