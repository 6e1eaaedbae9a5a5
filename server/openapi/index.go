package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/kind"
)

// index lists the documents of one state of the registry.
type index struct {
	generation uint64
	entries    map[string]indexEntry
	kinds      map[kind.Kind][]byte // the hash of each kind
	hash       string
	body       []byte
}

// indexEntry is one document, which need not be made yet.
type indexEntry struct {
	gv    schema.GroupVersion
	kinds []kind.Entry
	hash  string
}

// url is where the document with this very content stands.
func (e indexEntry) url() string {
	return root + "/" + documentPath(e.gv) + "?hash=" + url.QueryEscape(e.hash)
}

func documentPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// current is the index of the registry as it is now.
func (h *Handler) current() (*index, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	generation := h.registry.Generation()
	if h.index != nil && h.index.generation == generation {
		return h.index, nil
	}
	next, err := newIndex(generation, h.registry.Kinds(), h.index)
	if err != nil {
		return nil, err
	}
	h.index = next
	live := map[string]bool{}
	for _, e := range next.entries {
		live[e.hash] = true
	}
	for key := range h.documents {
		if !live[key.hash] {
			delete(h.documents, key)
		}
	}
	return next, nil
}

// newIndex makes an index; kinds that an older one has are not hashed again.
func newIndex(generation uint64, kinds []kind.Kind, older *index) (*index, error) {
	x := &index{generation: generation, entries: map[string]indexEntry{}, kinds: map[kind.Kind][]byte{}}
	for _, k := range kinds {
		hash, err := older.hashOf(k)
		if err != nil {
			return nil, err
		}
		x.kinds[k] = hash
		for i := range k.Info().Endpoints {
			if e := &k.Info().Endpoints[i]; !e.Unserved {
				path := documentPath(e.GroupVersion())
				entry := x.entries[path]
				entry.gv = e.GroupVersion()
				entry.kinds = append(entry.kinds, kind.Entry{Kind: k, Endpoint: e})
				x.entries[path] = entry
			}
		}
	}
	return x, x.finish()
}

// hashOf is the hash of a kind, made when the index, which may be nil, does not have it.
func (x *index) hashOf(k kind.Kind) ([]byte, error) {
	if x != nil {
		if hash, ok := x.kinds[k]; ok {
			return hash, nil
		}
	}
	return hashKind(k)
}

// finish hashes the documents and writes the index itself.
func (x *index) finish() error {
	type location struct {
		ServerRelativeURL string `json:"serverRelativeURL"`
	}
	paths := map[string]location{}
	builtin := builtinHash()
	for path, e := range x.entries {
		sum := sha256.New()
		sum.Write(builtin[:])
		sum.Write([]byte(path))
		for _, k := range e.kinds {
			sum.Write(x.kinds[k.Kind])
		}
		e.hash = strings.ToUpper(hex.EncodeToString(sum.Sum(nil)))
		x.entries[path] = e
		paths[path] = location{e.url()}
	}
	var err error
	x.body, err = json.Marshal(map[string]any{"paths": paths})
	sum := sha256.Sum256(x.body)
	x.hash = strings.ToUpper(hex.EncodeToString(sum[:]))
	return err
}

// hashKind sums up all that a document says of a kind.
func hashKind(k kind.Kind) ([]byte, error) {
	info := k.Info()
	facts := []any{info.Kind, info.ListKind(), info.Plural, info.Namespaced, info.Verbs, info.Endpoints}
	for _, s := range info.Subresources {
		facts = append(facts, s.Name, s.Kind, s.Verbs)
	}
	if own, ok := k.(Schematic); ok {
		for _, e := range info.Endpoints {
			facts = append(facts, own.Schema(e.Version))
		}
	}
	data, err := json.Marshal(facts)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI of %s: %w", info.GroupResource(), err)
	}
	sum := sha256.Sum256(data)
	return sum[:], nil
}
