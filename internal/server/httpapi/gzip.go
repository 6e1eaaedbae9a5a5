package httpapi

import (
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// gzipLeast is the size, in bytes, above which an answer is compressed if the client accepts it. Size and
// level (the fastest) are those of Kubernetes.
const gzipLeast = 128 << 10

// takesGzip reports whether Accept-Encoding contains gzip. Like Kubernetes, it ignores gzip with a quality.
func takesGzip(r *http.Request) bool {
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
	if size, err := strconv.Atoi(h.Get("Content-Length")); err == nil && size > gzipLeast &&
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
