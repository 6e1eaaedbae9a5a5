// Package status maps errors to the Status that clients receive, and constructs the errors of the API with the texts
// of kube-apiserver.
package status

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// Of maps an error to the Status that the client receives. It is the only such place: an error that it
// does not know is an internal error. So is a Status whose code cannot be sent or is not one of an error, which a
// webhook or an admission plugin may return.
func Of(err error) metav1.Status {
	s := of(err)
	shorten(&s)
	if s.Code < http.StatusBadRequest || s.Code > largestCode {
		s.Code = http.StatusInternalServerError
	}
	return s
}

// largestCode is the largest status code that net/http sends.
const largestCode = 999

const (
	// maxMessage and maxCause bound the texts of a Status, in bytes, and maxCauses the number of its causes. Webhooks
	// and plugins choose them, and errors quote what clients have sent.
	maxMessage = 256 << 10
	maxCause   = 8 << 10
	maxCauses  = 1000
)

// shorten cuts texts that are too long, and leaves out causes that are too many. It changes no slice of its caller.
func shorten(s *metav1.Status) {
	s.Message = cut(s.Message, maxMessage)
	if s.Details == nil || len(s.Details.Causes) == 0 {
		return
	}
	long := func(c metav1.StatusCause) bool { return len(c.Message) > maxCause || len(c.Field) > maxCause }
	if len(s.Details.Causes) <= maxCauses && !slices.ContainsFunc(s.Details.Causes, long) {
		return
	}
	details := *s.Details
	details.Causes = slices.Clone(details.Causes[:min(len(details.Causes), maxCauses)])
	for i := range details.Causes {
		c := &details.Causes[i]
		c.Message, c.Field = cut(c.Message, maxCause), cut(c.Field, maxCause)
	}
	s.Details = &details
}

// cut returns the start of a text that is longer than most, and how much is left out.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s... (%d more bytes)", strings.ToValidUTF8(text[:most], ""), len(text)-most)
}

func of(err error) metav1.Status {
	var status apierrors.APIStatus
	var future *store.FutureError
	var compacted *store.CompactedError
	var full *log.FullError
	var quota *store.QuotaError
	var failed *log.FailedError
	var damaged *store.UnreadableError
	switch {
	case errors.As(err, &status):
		return status.Status()
	case errors.As(err, &future):
		return TooLarge(future).Status()
	case errors.As(err, &compacted):
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.").Status()
	case errors.As(err, &quota):
		return quotaReached(quota)
	case errors.As(err, &full):
		return storageUnavailable(http.StatusInsufficientStorage, metav1.StatusReasonInternalError, full,
			"there is room")
	case errors.As(err, &failed):
		return storageUnavailable(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, failed,
			"it works again")
	case errors.As(err, &damaged):
		return unreadable(damaged)
	case errors.Is(err, context.DeadlineExceeded):
		return apierrors.NewTimeoutError("the request did not complete within its time; it may or may not have taken effect: read before you try again", 0).Status()
	case errors.Is(err, context.Canceled), errors.Is(err, store.ErrClosed):
		return apierrors.NewServiceUnavailable("the server is stopping; try again when it is back").Status()
	}
	return Internal(err)
}

// Internal returns a 500 with the error's text and no reason, like Kubernetes for errors that it does
// not know.
func Internal(err error) metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
}

// quotaReached returns the answer to a write that adds bytes to a full store. It asks for no retry: the store
// stays full until a user makes room. etcd's error is a 500 in Kubernetes.
func quotaReached(err *store.QuotaError) metav1.Status {
	flag := "--max-bytes"
	if err.Namespace != "" {
		flag = "--max-namespace-bytes"
	}
	return metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Reason: reasonFull,
		Message: err.Error() + "; nothing was written; reads and deletes continue: delete objects, or restart the " +
			"server with a larger " + flag,
	}
}

// reasonFull is the reason of a write that a full store rejects. Kubernetes has none for it.
const reasonFull metav1.StatusReason = "InsufficientStorage"

// storageUnavailable returns the answer to a write while the disk is full or fails. Clients that know Retry-After,
// such as client-go, retry for some seconds. Kubernetes answers 500 without a hint; the reason of a full disk
// is InternalError here, too.
func storageUnavailable(code int32, reason metav1.StatusReason, err error, until string) metav1.Status {
	const retryAfter = 1 // second
	return metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: err.Error() + "; nothing was written; reads continue, and writes will succeed again when " + until,
		Details: &metav1.StatusDetails{RetryAfterSeconds: retryAfter},
	}
}

// TooLarge returns the answer to a read at a revision that does not exist yet.
func TooLarge(err *store.FutureError) *apierrors.StatusError {
	s := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", err.Requested,
		err.Current), 1)
	s.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return s
}

// unreadable returns the Status of a request for an object that cannot be read, with Kubernetes' reason.
func unreadable(err *store.UnreadableError) metav1.Status {
	gr := err.Key.GroupResource()
	return metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonStoreReadError,
		Message: fmt.Sprintf("%s %q is damaged and cannot be read: %v; "+
			"restore the plane from a backup with bowline restore, or delete the object, which cannot be undone",
			gr, Name(err.Key), err.Err),
		Details: &metav1.StatusDetails{Group: gr.Group, Kind: gr.Resource, Name: err.Key.Name()},
	}
}

// Name returns an object's name, with its namespace if it has one.
func Name(key object.Key) string {
	if namespace := key.Namespace(); namespace != "" {
		return namespace + "/" + key.Name()
	}
	return key.Name()
}

// Error returns an error of the store as the Status that a client of the API receives.
func Error(err error) error {
	status := Of(err)
	return &apierrors.StatusError{ErrStatus: status}
}

// Qualified names a kind in errors, with its group.
func Qualified(k kind.Kind) schema.GroupKind {
	info := k.Info()
	return schema.GroupKind{Group: info.Endpoints[0].Group, Kind: info.Kind}
}

// NotFound returns the 404 of an object.
func NotFound(gr schema.GroupResource, name string) error { return apierrors.NewNotFound(gr, name) }

// Changed returns the 409 of a write whose object was changed by another writer.
func Changed(gr schema.GroupResource, name string) error {
	return apierrors.NewConflict(gr, name,
		errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}

// MethodNotAllowed returns a 405 with Kubernetes' text, which does not name the resource.
func MethodNotAllowed() error {
	return Generic(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		"the server does not allow this method on the requested resource")
}

// NoResource returns the 404 of a path whose group, version or resource is not served.
func NoResource() error {
	return Generic(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
}

// NotAcceptable returns the 406 of an Accept header that names none of the available media types.
func NotAcceptable(available ...string) error {
	return Generic(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"406: Not Acceptable\n\nAvailable representations: "+strings.Join(available, ", "))
}

// UnsupportedForm returns the 406 of a form that this endpoint does not support: an unknown as=, or a watch in
// YAML.
func UnsupportedForm(accepted ...string) error {
	return NoForm("only the following media types are accepted: " + strings.Join(accepted, ", "))
}

// NoForm returns a 406 with a text.
func NoForm(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: message,
	}}
}

// UnsupportedMedia returns the 415 of a body in an unsupported format.
func UnsupportedMedia(accepted ...string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType,
		Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: " +
			strings.Join(accepted, ", "),
	}}
}

// Generic returns a Status with empty details, like Kubernetes before it has found the object.
func Generic(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{},
	}}
}

// InternalText returns a 500 with nothing but a text, like Kubernetes for a watch or get whose
// resourceVersion is not a number, and for an applied document that does not fit the schema.
func InternalText(text string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure,
		Code: http.StatusInternalServerError, Message: text}}
}

// Invalid returns the 422 of an invalid object, or nil if there are no errors.
func Invalid(k kind.Kind, name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return kind.NewInvalid(Qualified(k), name, errs)
}

// InternalGroup returns the name of a group in Kubernetes' errors about its internal types.
func InternalGroup(group string) string {
	if group == "" {
		return "core"
	}
	name, _, _ := strings.Cut(group, ".")
	return name
}

// TooBig returns the 413 of a body that is longer than limit bytes.
func TooBig(limit int) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", limit))
}
