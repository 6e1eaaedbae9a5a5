package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
)

// statusOf maps an error to the Status that the client receives. It is the only such place: an error that it
// does not know is an internal error.
func statusOf(err error) metav1.Status {
	var status apierrors.APIStatus
	var future *store.FutureError
	var compacted *store.CompactedError
	var full *log.FullError
	var failed *log.FailedError
	var damaged *store.UnreadableError
	switch {
	case errors.As(err, &status):
		return status.Status()
	case errors.As(err, &future):
		return tooLarge(future).Status()
	case errors.As(err, &compacted):
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.").Status()
	case errors.As(err, &full):
		return unwritten(http.StatusInsufficientStorage, metav1.StatusReasonInternalError, full, "there is room")
	case errors.As(err, &failed):
		return unwritten(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, failed, "it works again")
	case errors.As(err, &damaged):
		return unreadable(damaged)
	case errors.Is(err, context.DeadlineExceeded):
		return apierrors.NewTimeoutError("the request did not complete within its time; it may or may not have taken effect: read before you try again", 0).Status()
	case errors.Is(err, context.Canceled), errors.Is(err, store.ErrClosed):
		return apierrors.NewServiceUnavailable("the server is stopping; try again when it is back").Status()
	}
	return internalError(err)
}

// internalError returns a 500 with the error's text and no reason, like Kubernetes for errors that it does
// not know.
func internalError(err error) metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
}

// unwritten returns the answer to a write while the disk is full or fails. Clients that know Retry-After,
// such as client-go, retry for some seconds. Kubernetes answers 500 without a hint; the reason of a full disk
// is InternalError here, too.
func unwritten(code int32, reason metav1.StatusReason, err error, until string) metav1.Status {
	const again = 1 // second
	return metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: err.Error() + "; nothing was written; reads go on, and writes will again when " + until,
		Details: &metav1.StatusDetails{RetryAfterSeconds: again},
	}
}

// tooLarge returns the answer to a read at a revision that does not exist yet.
func tooLarge(err *store.FutureError) *apierrors.StatusError {
	s := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", err.Requested,
		err.Current), 1)
	s.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return s
}

// writeError answers with an error's Status, in a form that the client accepts.
func (s *Server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	if status.Code == http.StatusInternalServerError {
		s.log.Error("a request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	writeStatus(w, r, &status)
}

// writeStatus writes a Status with its code.
func writeStatus(w http.ResponseWriter, r *http.Request, status *metav1.Status) {
	status.Kind, status.APIVersion = "Status", "v1"
	chosen, ok := acceptable(r.Header.Get("Accept"), true)
	if !ok || chosen.as != "" {
		chosen = media{name: mediaJSON}
	}
	code := int(status.Code)
	if code == 0 {
		code = http.StatusOK
	}
	data, err := kind.Marshal(chosen.format(), status)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeBody(w, code, chosen.name, data)
}

// writeBody writes a whole answer. JSON ends with a newline; YAML is converted from JSON.
func writeBody(w http.ResponseWriter, code int, mediaType string, data []byte) {
	w.Header().Set("Cache-Control", "no-cache, private")
	w.Header().Set("Content-Type", mediaType)
	switch mediaType {
	case mediaYAML:
		y, err := yaml.JSONToYAML(data)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		data = y
	case mediaJSON:
		w.Header().Set("Content-Length", strconv.Itoa(len(data)+1))
		w.WriteHeader(code)
		w.Write(data)
		w.Write(newline)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(code)
	w.Write(data)
}

var newline = []byte{'\n'}

// qualified names a kind in errors, with its group.
func qualified(k kind.Kind) schema.GroupKind {
	info := k.Info()
	return schema.GroupKind{Group: info.Endpoints[0].Group, Kind: info.Kind}
}

// notFound returns the 404 of an object.
func notFound(gr schema.GroupResource, name string) error { return apierrors.NewNotFound(gr, name) }

// changed returns the 409 of a write whose object was changed by another writer.
func changed(gr schema.GroupResource, name string) error {
	return apierrors.NewConflict(gr, name,
		errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}

// methodNotAllowed returns a 405 with Kubernetes' text, which does not name the resource.
func methodNotAllowed() error {
	return generic(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		"the server does not allow this method on the requested resource")
}

// noResource returns the 404 of a path whose group, version or resource is not served.
func noResource() error {
	return generic(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
}

// notAcceptable returns the 406 of an Accept header without a supported media type. For paths that can be
// watched it also lists the media types of watches.
func notAcceptable(streams bool) error {
	available := mediaTypes
	if streams {
		available = slices.Concat(mediaTypes, streamed)
	}
	return generic(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"406: Not Acceptable\n\nAvailable representations: "+strings.Join(available, ", "))
}

// notWritten returns the 406 of a form that this endpoint does not support: an unknown as=, or a watch in
// YAML.
func notWritten(accepted ...string) error {
	return noForm("only the following media types are accepted: " + strings.Join(accepted, ", "))
}

// otherShape returns the 406 of a request for a list as one object's metadata, or for an object as a list's.
func (c *call) otherShape(as string) error {
	goType := "*" + internalGroup(c.gvr.Group) + "." + c.info().Kind
	if !c.builtin() {
		goType = "*unstructured.Unstructured"
	}
	if as == asPartialList {
		return noForm("you requested PartialObjectMetadataList, but the requested object is not a list (" + goType +
			")")
	}
	return noForm("you requested PartialObjectMetadata, but the requested object is a list (" + goType + "List)")
}

func noForm(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: message,
	}}
}

// unsupportedMedia returns the 415 of a body in an unsupported format.
func unsupportedMedia(accepted ...string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType,
		Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: " +
			strings.Join(accepted, ", "),
	}}
}

// generic returns a Status with empty details, like Kubernetes before it has found the object.
func generic(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{},
	}}
}

// revisionOf parses the resourceVersion of an object; empty and "0" are revision 0.
func revisionOf(obj metav1.Object) (object.Revision, error) {
	v := obj.GetResourceVersion()
	if v == "" || v == "0" {
		return 0, nil
	}
	return object.ParseRevision(v)
}

// internalText returns a 500 with nothing but a text, like Kubernetes for a watch or get whose
// resourceVersion is not a number, and for an applied document that does not fit the schema.
func internalText(text string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure,
		Code: http.StatusInternalServerError, Message: text}}
}
