package httpapi

import (
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/bowline-dev/bowline/internal/server/render"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/stage"
	"github.com/bowline-dev/bowline/internal/server/status"
)

// send writes a whole answer. Errors are ignored: they mean that the client has disconnected.
func send(w http.ResponseWriter, a render.Answer) {
	if a.Code == http.StatusNoContent {
		w.WriteHeader(a.Code)
		return
	}
	header := w.Header()
	header.Set("Cache-Control", "no-cache, private")
	header.Set("Content-Type", a.MediaType)
	header.Set("Content-Length", strconv.Itoa(a.Length))
	w.WriteHeader(a.Code)
	a.WriteTo(w)
}

// sendJSON writes a JSON document that is not an API object.
func sendJSON(w http.ResponseWriter, body []byte) {
	answer, _ := render.Body(http.StatusOK, request.JSON, body) // JSON is not converted
	send(w, answer)
}

// fail answers with an error. An error of a request without a deadline, or before it has one, must be read in time,
// too: it may quote much of the request.
func (h *Handler) fail(x *exchange, w http.ResponseWriter, err error) {
	x.spans.At(stage.Answer)
	if x.bounded == nil && x.r.TLS != nil {
		http.NewResponseController(x.ResponseWriter).SetWriteDeadline(time.Now().Add(2 * answerGrace))
	}
	h.writeError(w, x.r, err)
}

// writeError answers with an error's Status, in a form that the client accepts.
func (h *Handler) writeError(w http.ResponseWriter, r *http.Request, err error) {
	s := status.Of(err)
	if s.Code == http.StatusInternalServerError {
		h.o.Log.Error("a request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if d := s.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	writeStatus(w, r, &s)
}

// writeStatus answers with a Status and its code.
func writeStatus(w http.ResponseWriter, r *http.Request, s *metav1.Status) {
	answer, err := render.Status(r.Header.Get("Accept"), s)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	send(w, answer)
}

// sendWarnings writes the Warning headers (RFC 7234: code 299, no agent).
func sendWarnings(w http.ResponseWriter, warnings []string) {
	for _, text := range sendable(warnings) {
		if header, err := utilnet.NewWarningHeader(299, "", text); err == nil { // sendable returns only valid texts
			w.Header().Add("Warning", header)
		}
	}
}
