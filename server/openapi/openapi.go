// Package openapi describes a server's API in OpenAPI v3: an index under /openapi/v3 and one document for each
// group-version below it, with the paths, parameters and schemas that clients explain, validate, diff and merge by.
// The schemas of built-in kinds are made from their Go structs at development time (see the command in gen) and
// embedded; those of custom resources come from their definitions. The OpenAPI v2 document is there, and empty (v2.go).
//
// Nothing is unpacked, built or hashed before a client asks for it. The server's router calls Serve for every GET
// below /openapi.
package openapi

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/kube-openapi/pkg/handler3"

	"github.com/bowline-dev/bowline/kind"
)

// root is where the index stands.
const root = "/openapi/v3"

// Handler serves the documents of one registry. It is safe for concurrent use.
type Handler struct {
	registry *kind.Registry

	mu    sync.Mutex
	index *index
	// documents are kept as long as their hash is in the index: a new custom resource costs only the document of its own
	// group-version.
	documents map[documentKey][]byte
}

// documentKey names a finished document.
type documentKey struct {
	hash   string
	format string
}

// New makes a handler for the kinds of a registry, now and as they change.
func New(registry *kind.Registry) *Handler {
	return &Handler{registry: registry, documents: map[documentKey][]byte{}}
}

// Serve answers a GET of the index, of a group-version's document or of the OpenAPI v2 document. It says false, and
// writes nothing, when the method or the path is another, or when no kind is served in the group-version.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	if path == rootV2 {
		serveV2(w, r)
		return true
	}
	rest, ok := strings.CutPrefix(path, root)
	if !ok || rest != "" && rest[0] != '/' {
		return false
	}
	index, err := h.current()
	if err != nil {
		serverError(w, r, err)
		return true
	}
	if rest == "" {
		w.Header().Set("Content-Type", jsonFormat)
		serveBytes(w, r, index.hash, index.body)
		return true
	}
	entry, ok := index.entries[strings.TrimPrefix(rest, "/")]
	if !ok {
		return false
	}
	h.serveDocument(w, r, entry)
	return true
}

// serveDocument answers with one group-version. A client that names the hash that the index gave it may keep the
// answer for good; one that names an old hash is sent to the new one.
func (h *Handler) serveDocument(w http.ResponseWriter, r *http.Request, e indexEntry) {
	format, ok := negotiate(r.Header.Get("Accept"), protobufFormat, protobufOldFormat)
	if !ok {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	if asked := r.URL.Query().Get("hash"); asked != "" {
		if asked != e.hash {
			http.Redirect(w, r, e.url(), http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", time.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
	}
	body, err := h.document(e, format)
	if err != nil {
		serverError(w, r, err)
		return
	}
	w.Header().Set("Vary", "Accept")
	w.Header().Set("Content-Type", format)
	serveBytes(w, r, e.hash, body)
}

// document finds a document or makes it. Documents are asked for rarely: one is made at a time.
func (h *Handler) document(e indexEntry, format string) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.documentLocked(e, format)
}

// documentLocked is document for who holds the lock.
func (h *Handler) documentLocked(e indexEntry, format string) ([]byte, error) {
	key := documentKey{e.hash, format}
	if body, ok := h.documents[key]; ok {
		return body, nil
	}
	var body []byte
	var err error
	if format == protobufFormat {
		var text []byte
		if text, err = h.documentLocked(e, jsonFormat); err == nil {
			body, err = handler3.ToV3ProtoBinary(text)
		}
	} else {
		body, err = buildDocument(e.gv, e.kinds)
	}
	if err != nil {
		return nil, fmt.Errorf("OpenAPI of %s: %w", e.gv, err)
	}
	h.documents[key] = body
	return body, nil
}

func serveBytes(w http.ResponseWriter, r *http.Request, hash string, body []byte) {
	w.Header().Set("ETag", `"`+hash+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

func serverError(w http.ResponseWriter, r *http.Request, err error) {
	http.Error(w, r.URL.Path+": "+err.Error(), http.StatusInternalServerError)
}

// The media types of documents. The protobuf one has an older name, which is no valid media type and which clients ask
// for all the same.
const (
	jsonFormat        = "application/json"
	protobufFormat    = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
	protobufOldFormat = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
)

// negotiate takes the first media type of an Accept header that a document has, whose protobuf form has two names.
func negotiate(accept, protobuf, old string) (string, bool) {
	if accept == "" {
		return jsonFormat, true
	}
	for clause := range strings.SplitSeq(accept, ",") {
		name, _, _ := strings.Cut(clause, ";")
		switch strings.TrimSpace(name) {
		case "*/*", "application/*", jsonFormat:
			return jsonFormat, true
		case protobuf, old:
			return protobuf, true
		}
	}
	return "", false
}
