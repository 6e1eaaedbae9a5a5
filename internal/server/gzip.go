package server

import (
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// gzipLeast is the size, in bytes, above which an answer is compressed for a client that takes it so. It is Kubernetes',
// as is the level: the quickest.
const gzipLeast = 128 << 10

// takesGzip reads Accept-Encoding as Kubernetes does: gzip has to stand there as it is, and with no quality.
func takesGzip(r *http.Request) bool {
	for token := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(token) == "gzip" {
			return true
		}
	}
	return false
}

// gzipWriter compresses an answer that is large and not compressed yet. Its head says how large it is.
type gzipWriter struct {
	http.ResponseWriter
	pool  *sync.Pool // of *gzip.Writer, which are large
	wrote bool
	zip   *gzip.Writer // nil for an answer that passes as it is
}

// Unwrap is for http.ResponseController.
func (w *gzipWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *gzipWriter) WriteHeader(code int) {
	w.wrote = true
	h := w.Header()
	if size, err := strconv.Atoi(h.Get("Content-Length")); err == nil && size > gzipLeast && h.Get("Content-Encoding") == "" {
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
	fresh, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a level that there is
	return fresh
}

// finish sends what is left.
func (w *gzipWriter) finish() {
	if w.zip == nil {
		return
	}
	w.zip.Close() // a client that is gone hears nothing more
	w.zip.Reset(nil)
	w.pool.Put(w.zip)
	w.zip = nil
}
