// Package discovery serves the documents from which clients learn what a server supports: the groups and
// versions below /api and /apis, the resources of each version, and the aggregated form with all of them in
// one answer. They are derived from the kinds of a kind.Registry only.
//
// A document is made when it is first requested, and cached until the registry changes. Package httpapi
// calls Serve for the paths at and below /api and /apis that are not resources, and answers itself if Serve returns
// false.
package discovery

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// Handler serves the documents of one registry. It is safe for concurrent use.
type Handler struct {
	registry *kind.Registry
	remotes  func() *Remotes

	mu        sync.Mutex // guards the fields below
	served    *served
	documents map[documentKey]document // made from served
}

// documentKey identifies a document: its path without a trailing slash, and the negotiated form.
type documentKey struct {
	path string
	media
}

// document is an encoded answer.
type document struct {
	body []byte
	etag string
}

// New returns a handler for the kinds of a registry, including later changes, and for the group versions of other
// servers, which remotes returns. remotes may be nil.
func New(registry *kind.Registry, remotes func() *Remotes) *Handler {
	if remotes == nil {
		none := &Remotes{}
		remotes = func() *Remotes { return none }
	}
	return &Handler{registry: registry, remotes: remotes, documents: map[documentKey]document{}}
}

// Serve answers a GET of a discovery document. It returns false, and writes nothing, if it is another method
// or path, or if no kind is served in the group or version of the path.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	p, ok := parsePath(r.URL.Path)
	if !ok {
		return false
	}
	if _, _, ok := h.current().find(p); !ok && !p.isRoot() {
		return false
	}
	m, ok := negotiate(r.Header.Get("Accept"), p.isRoot())
	if !ok {
		notAcceptable(w)
		return true
	}
	if p == corePath && !m.aggregated() {
		h.serveVersions(w, r, m)
		return true
	}
	doc, err := h.document(p, m)
	if err != nil {
		http.Error(w, "discovery of "+r.URL.Path+": "+err.Error(), http.StatusInternalServerError)
		return true
	}
	write(w, r, m, doc)
	return true
}

// write sends a document. Only the aggregated form, which clients cache on disk, has an ETag.
func write(w http.ResponseWriter, r *http.Request, m media, doc document) {
	w.Header().Set("Vary", "Accept")
	if m.aggregated() {
		w.Header().Set("ETag", doc.etag)
		w.Header().Set("Cache-Control", "public")
		if r.Header.Get("If-None-Match") == doc.etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.Header().Set("Content-Type", m.String())
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		w.Write(doc.body)
	}
}

// current returns the current state of the registry.
func (h *Handler) current() *served {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.currentLocked()
}

// currentLocked is current for callers that hold mu. It removes outdated documents.
func (h *Handler) currentLocked() *served {
	g, remotes := h.registry.Generation(), h.remotes()
	if h.served == nil || g != h.served.generation || remotes != h.served.remotes {
		h.served = newServed(g, h.registry.Kinds(), remotes, h.served)
		clear(h.documents)
	}
	return h.served
}

// document returns a document. It makes it on first use, and caches it until the registry changes.
func (h *Handler) document(p path, m media) (document, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.currentLocked()
	key := documentKey{p.String(), m}
	if doc, ok := h.documents[key]; ok {
		return doc, nil
	}
	body, err := s.build(p, m)
	if err != nil {
		return document{}, err
	}
	hash := sha256.Sum256(body)
	doc := document{body: body, etag: `"` + hex.EncodeToString(hash[:]) + `"`}
	h.documents[key] = doc
	return doc, nil
}

// build makes a document. It is empty if its last kind was removed in the meantime.
func (s *served) build(p path, m media) ([]byte, error) {
	switch g, entries, ok := s.find(p); {
	case m.aggregated():
		return s.aggregate(p == corePath, m)
	case p.isRoot():
		return encode(m, s.groupList())
	case p.version == "" && ok:
		return encode(m, g.document())
	case p.version == "":
		return encode(m, &metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: p.group})
	default:
		return encode(m, resourceList(entries, p.groupVersion()))
	}
}

// encode encodes an object in the negotiated format; the text formats end with a newline.
func encode(m media, obj runtime.Object) ([]byte, error) {
	if m.format == protobufFormat {
		return kind.Marshal(object.Protobuf, obj)
	}
	body, err := kind.Marshal(object.JSON, obj)
	if err != nil || m.format == jsonFormat {
		return append(body, '\n'), err
	}
	return yaml.JSONToYAML(body)
}
