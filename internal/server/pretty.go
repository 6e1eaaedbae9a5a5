package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// wantsPretty says whether JSON is to be indented: by the parameter pretty, or because people read it, as Kubernetes
// takes of curl, Wget and browsers. A watch never is: its events are a line each.
func wantsPretty(r *http.Request, target *route) bool {
	if target.verb == "watch" || strings.HasPrefix(r.URL.Path, "/openapi/") {
		return false
	}
	if strings.Contains(r.URL.RawQuery, "pretty") {
		if asked := r.URL.Query().Get("pretty"); asked != "" {
			pretty, _ := strconv.ParseBool(asked)
			return pretty
		}
	}
	agent := r.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

// prettyWriter holds back a JSON answer, to indent it once it is whole. Others pass.
type prettyWriter struct {
	http.ResponseWriter
	json bool
	code int
	body bytes.Buffer
}

// Unwrap is for http.ResponseController.
func (w *prettyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *prettyWriter) WriteHeader(code int) {
	w.code = code
	if kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";"); kind == mediaJSON {
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

// finish sends what was held back. What is no JSON goes as it is.
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
