// Package discovery writes the documents in which a server tells clients what it serves: the groups and versions below
// /api and /apis, the resources of each version, and the aggregated form that holds all of them in one answer. They
// follow from the kinds in a kind.Registry and nothing else.
//
// A document is made when it is first asked for and kept until the registry changes. The server's router calls Serve
// for every GET that names no resource; what is not found here, the router answers.
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
	"github.com/bowline-dev/bowline/object"
)

// Handler serves the documents of one registry. It is safe for concurrent use.
type Handler struct {
	registry *kind.Registry

	mu        sync.Mutex // for what is below
	served    *served
	documents map[documentKey]document // made from served
}

// documentKey names a document: its path without a closing slash, and what was negotiated.
type documentKey struct {
	path string
	media
}

// document is a finished answer.
type document struct {
	body []byte
	etag string
}

// New makes a handler for the kinds of a registry, now and as they change.
func New(registry *kind.Registry) *Handler {
	return &Handler{registry: registry, documents: map[documentKey]document{}}
}

// Serve answers a GET of a discovery document. It says false, and writes nothing, when the method or the path is
// another, or when no kind is served in the group or version of the path.
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

// write sends a document. Only the aggregated form, which clients keep on disk, is validated by its hash.
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

// current is what is served now.
func (h *Handler) current() *served {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.currentLocked()
}

// currentLocked is current for who holds the lock. It lets go of documents that are old.
func (h *Handler) currentLocked() *served {
	if g := h.registry.Generation(); h.served == nil || g != h.served.generation {
		h.served = newServed(g, h.registry.Kinds(), h.served)
		clear(h.documents)
	}
	return h.served
}

// document finds a document, or makes it and keeps it as long as the registry stays as it is.
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

// build makes a document. Its last kind may have gone since it was looked for: then it is empty.
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

// encode writes an object in the format that was negotiated; the text formats end with a newline.
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
