package httpapi

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/bowline-dev/bowline/internal/server/request"
)

// minGzip is the size, in bytes, above which an answer is compressed if the client accepts it. Size and
// level (the fastest) are those of Kubernetes.
const minGzip = 128 << 10

// acceptsGzip reports whether Accept-Encoding contains gzip. Like Kubernetes, it ignores gzip with a quality.
func acceptsGzip(r *http.Request) bool {
	for token := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(token) == "gzip" {
			return true
		}
	}
	return false
}

// gzipWriter compresses a large answer that is not compressed yet. It reads the size from Content-Length.
type gzipWriter struct {
	http.ResponseWriter
	pool  *sync.Pool // of *gzip.Writer, which are large
	wrote bool
	zip   *gzip.Writer // nil if the answer is not compressed
}

// Unwrap lets http.ResponseController reach the connection.
func (w *gzipWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *gzipWriter) WriteHeader(code int) {
	w.wrote = true
	h := w.Header()
	if size, err := strconv.Atoi(h.Get("Content-Length")); err == nil && size > minGzip &&
		h.Get("Content-Encoding") == "" {
		h.Del("Content-Length")
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		w.zip = w.take()
		w.zip.Reset(w.ResponseWriter)
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *gzipWriter) Write(data []byte) (int, error) {
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	if w.zip != nil {
		return w.zip.Write(data)
	}
	return w.ResponseWriter.Write(data)
}

func (w *gzipWriter) take() *gzip.Writer {
	if used, ok := w.pool.Get().(*gzip.Writer); ok {
		return used
	}
	fresh, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return fresh
}

// finish writes the end of the compressed answer.
func (w *gzipWriter) finish() {
	if w.zip == nil {
		return
	}
	w.zip.Close() // fails only if the client disconnected
	w.zip.Reset(nil)
	w.pool.Put(w.zip)
	w.zip = nil
}

// wantsPretty reports whether JSON is indented: with the parameter pretty, or, like in Kubernetes, for curl,
// Wget and browsers. The events of a watch never are: each is one line.
func wantsPretty(r *http.Request, route *request.Route) bool {
	if route.Verb == "watch" || strings.HasPrefix(r.URL.Path, "/openapi/") {
		return false
	}
	if strings.Contains(r.URL.RawQuery, "pretty") {
		if value := r.URL.Query().Get("pretty"); value != "" {
			pretty, _ := strconv.ParseBool(value)
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
