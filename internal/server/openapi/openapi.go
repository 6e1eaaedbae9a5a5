// Package openapi serves the OpenAPI description of a server's API: in v3 an index at /openapi/v3 and one
// document for each group-version below it; in v2, for older clients, one document of everything at
// /openapi/v2. They contain the paths, parameters and schemas with which clients explain, validate, diff and
// merge. The schemas of built-in kinds are generated from their Go structs (see the command in gen) and
// embedded; those of custom resources come from their definitions.
//
// Nothing is unpacked, built or hashed before a client requests it, and a change of one kind rebuilds only
// the documents of its group-versions. Package httpapi calls Serve for every request below /openapi.
package openapi

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/kube-openapi/pkg/handler3"

	"github.com/bowline-dev/bowline/internal/kind"
)

const (
	root   = "/openapi/v3" // the path of the index
	rootV2 = "/openapi/v2"
)

// Handler serves the documents of one registry. It is safe for concurrent use.
type Handler struct {
	registry *kind.Registry
	remotes  func() *Remotes
	info     info

	// One document is built at a time, since they are rarely requested and need memory while they are built.
	// That of v2, which is slow with many definitions, has its own lock.
	building, buildingV2 sync.Mutex
	// builtin holds the schemas of v3 documents. building guards it.
	builtin *archive
	// writers are reused to compress documents (*gzip.Writer): one is larger than most documents.
	writers sync.Pool

	mu    sync.Mutex // guards the fields below
	index *index
	// documents are cached as long as the index lists them, within a budget.
	documents documents
}

// New returns a handler for the kinds of a registry, including later changes, and for the documents of other servers,
// which remotes returns. remotes may be nil. The version is the server's.
func New(registry *kind.Registry, version string, remotes func() *Remotes) *Handler {
	if remotes == nil {
		none := &Remotes{}
		remotes = func() *Remotes { return none }
	}
	return &Handler{registry: registry, remotes: remotes, info: info{Title: "Kubernetes", Version: version}}
}

// Serve answers a GET of the index, of a document that it lists or of the OpenAPI v2 document. It returns
// false, and writes nothing, if it is another method or path, or if no kind is served in the group-version.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	rest, v3 := strings.CutPrefix(path, root)
	if path != rootV2 && (!v3 || rest != "" && rest[0] != '/') {
		return false
	}
	index, err := h.current()
	switch {
	case err != nil:
		serverError(w, r, err)
	case path == rootV2:
		h.serveV2(w, r, index)
	case rest == "":
		w.Header().Set("Content-Type", jsonFormat)
		serveBytes(w, r, index.hash, index.body)
	default:
		entry, ok := index.entries[rest[1:]]
		if !ok || entry.remote != nil {
			return false
		}
		h.serveV3(w, r, entry)
	}
	return true
}

// serveV3 answers with one document. A client may cache the answer to the URL with the index's hash forever.
// An outdated hash is redirected to the current one.
func (h *Handler) serveV3(w http.ResponseWriter, r *http.Request, e *indexEntry) {
	format, ok := negotiate(r.Header.Get("Accept"), protobufFormat, protobufOldFormat)
	if !ok {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	if hash := r.URL.Query().Get("hash"); hash != "" {
		if hash != e.hash {
			http.Redirect(w, r, e.url(), http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", time.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
	}
	h.serveDocument(w, r, documentKey{e.path, format}, e.hash, func() ([]byte, error) {
		text, err := h.buildV3(e)
		if err != nil || format == jsonFormat {
			return text, err
		}
		return handler3.ToV3ProtoBinary(text)
	})
}

// serveDocument answers with a document that is cached, or that build makes.
func (h *Handler) serveDocument(w http.ResponseWriter, r *http.Request, key documentKey, hash string,
	build func() ([]byte, error)) {
	zip, text, err := h.document(key, hash, build)
	zipped := acceptsGzip(r.Header)
	if err == nil && text == nil && !zipped {
		text, err = decompress(zip)
	}
	if err != nil {
		serverError(w, r, fmt.Errorf("OpenAPI of %s: %w", key.path, err))
		return
	}
	w.Header().Set("Vary", "Accept, Accept-Encoding")
	w.Header().Set("Content-Type", key.format)
	if zipped {
		w.Header().Set("Content-Encoding", "gzip")
		text = zip
	}
	serveBytes(w, r, hash, text)
}

// document returns a compressed document and, if it was just built, the uncompressed one.
func (h *Handler) document(key documentKey, hash string, build func() ([]byte, error)) (zip, text []byte, err error) {
	if zip, ok := h.cached(key, hash); ok {
		return zip, nil, nil
	}
	building := &h.building
	if key.path == rootV2 {
		building = &h.buildingV2
	}
	building.Lock()
	defer building.Unlock()
	if zip, ok := h.cached(key, hash); ok { // built while this request waited
		return zip, nil, nil
	}
	if text, err = build(); err != nil {
		return nil, nil, err
	}
	if zip, err = h.compress(text); err != nil {
		return nil, nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.index.lists(key.path, hash) {
		h.documents.put(key, finished{hash, zip})
	}
	return zip, text, nil
}

func (h *Handler) cached(key documentKey, hash string) ([]byte, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.documents.find(key, hash)
}

// serveBytes answers with a body, or with 304 if the client has it.
func serveBytes(w http.ResponseWriter, r *http.Request, hash string, body []byte) {
	w.Header().Set("ETag", `"`+hash+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

func serverError(w http.ResponseWriter, r *http.Request, err error) {
	http.Error(w, r.URL.Path+": "+err.Error(), http.StatusInternalServerError)
}
