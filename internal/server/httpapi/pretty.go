package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/bowline-dev/bowline/internal/server/request"
)

// wantsPretty reports whether JSON is indented: with the parameter pretty, or, like in Kubernetes, for curl,
// Wget and browsers. The events of a watch never are: each is one line.
func wantsPretty(r *http.Request, route *request.Route) bool {
	if route.Verb == "watch" || strings.HasPrefix(r.URL.Path, "/openapi/") {
		return false
	}
	if strings.Contains(r.URL.RawQuery, "pretty") {
		if asked := r.URL.Query().Get("pretty"); asked != "" {
			pretty, _ := strconv.ParseBool(asked)
			return pretty
		}
	}
	agent := r.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") ||
		strings.HasPrefix(agent, "Mozilla/5.0")
}

// prettyWriter buffers a JSON answer to indent it. Other answers are not buffered.
type prettyWriter struct {
	http.ResponseWriter
	json bool
	code int
	body bytes.Buffer
}

// Unwrap lets http.ResponseController reach the connection.
func (w *prettyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *prettyWriter) WriteHeader(code int) {
	w.code = code
	if kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";"); kind == request.JSON {
		w.json = true
		return
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *prettyWriter) Write(data []byte) (int, error) {
	if w.code == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.json {
		return w.body.Write(data)
	}
	return w.ResponseWriter.Write(data)
}

// finish writes the buffered answer, without indentation if it is not valid JSON.
func (w *prettyWriter) finish() {
	if !w.json {
		return
	}
	var indented bytes.Buffer
	if json.Indent(&indented, bytes.TrimSpace(w.body.Bytes()), "", "  ") != nil {
		indented = w.body
	}
	w.Header().Set("Content-Length", strconv.Itoa(indented.Len()))
	w.ResponseWriter.WriteHeader(w.code)
	w.ResponseWriter.Write(indented.Bytes())
}
