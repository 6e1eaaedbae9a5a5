package openapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
)

// versionPath is the path of the server's version, below the root.
const versionPath = "version"

// index lists the documents of one state of the registry. It is immutable.
type index struct {
	generation uint64
	remotes    *Remotes
	builtin    [sha256.Size]byte
	entries    map[string]*indexEntry
	hash       string
	body       []byte
}

// indexEntry is one document, which may not have been made yet: that of a group-version, or of a discovery
// path.
type indexEntry struct {
	path  string
	gv    schema.GroupVersion // without a version for a discovery path
	kinds []kind.Entry
	hash  string
	line  []byte // in the index
	// remote is the document if another server has it; then the entry has no kinds.
	remote *Remote
}

// url returns the URL of the document with exactly this content.
func (e *indexEntry) url() string {
	return root + "/" + e.path + "?hash=" + url.QueryEscape(e.hash)
}

// typed reports whether a kind of the group-version is built in.
func (e *indexEntry) typed() bool {
	return slices.ContainsFunc(e.kinds, func(k kind.Entry) bool { return k.Kind.Info().Builtin })
}

// typedVersions returns the group-versions whose DeleteOptions and WatchEvent the document lists.
func (e *indexEntry) typedVersions() []schema.GroupVersion {
	core := schema.GroupVersion{Version: "v1"}
	if e.gv == core || e.gv.Version == "" || !e.typed() {
		return []schema.GroupVersion{core}
	}
	return []schema.GroupVersion{core, e.gv}
}

func documentPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.Group + "/" + gv.Version
}

// current returns the index of the registry's current state. It removes documents that the index does not
// list.
func (h *Handler) current() (*index, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	generation, remotes := h.registry.Generation(), h.remotes()
	if h.index != nil && h.index.generation == generation && h.index.remotes == remotes {
		return h.index, nil
	}
	next, err := newIndex(generation, h.registry.Kinds(), remotes, h.index)
	if err != nil {
		return nil, err
	}
	h.index = next
	h.documents.retain(next.lists)
	return next, nil
}

// lists reports whether a document is the one that the index lists.
func (x *index) lists(path, hash string) bool {
	if path == rootV2 {
		return hash == x.hash
	}
	e := x.entries[path]
	return e != nil && e.hash == hash
}

// newIndex makes an index. Entries of an older one, which may be nil, are reused if their kinds are the same,
// so that a change of one kind affects one entry.
func newIndex(generation uint64, kinds []kind.Kind, remotes *Remotes, older *index) (*index, error) {
	x := &index{generation: generation, remotes: remotes, entries: group(kinds)}
	if err := x.addRemotes(remotes); err != nil {
		return nil, err
	}
	if older == nil {
		older = &index{builtin: builtinHash()}
	}
	x.builtin = older.builtin
	paths := slices.Sorted(maps.Keys(x.entries))
	body := bytes.NewBuffer(make([]byte, 0, len(older.body)+1024)) // an index grows in small steps
	body.WriteString(`{"paths":{`)
	for i, path := range paths {
		e, old := x.entries[path], older.entries[path]
		switch {
		case e.remote != nil: // is finished
		case old != nil && old.remote == nil && slices.Equal(old.kinds, e.kinds):
			x.entries[path] = old
		default:
			if err := e.finish(x.builtin); err != nil {
				return nil, err
			}
		}
		if i > 0 {
			body.WriteByte(',')
		}
		body.Write(x.entries[path].line)
	}
	body.WriteString("}}")
	x.body = body.Bytes()
	sum := sha256.Sum256(x.body)
	x.hash = strings.ToUpper(hex.EncodeToString(sum[:]))
	return x, nil
}

// group sorts kinds into the documents that describe them, and adds those of discovery.
func group(kinds []kind.Kind) map[string]*indexEntry {
	entries := map[string]*indexEntry{}
	entry := func(path string, gv schema.GroupVersion) *indexEntry {
		if entries[path] == nil {
			entries[path] = &indexEntry{path: path, gv: gv}
		}
		return entries[path]
	}
	entry("apis", schema.GroupVersion{})
	entry(versionPath, schema.GroupVersion{})
	for _, k := range kinds {
		custom := !k.Info().Builtin
		for i := range k.Info().Endpoints {
			e := &k.Info().Endpoints[i]
			if e.Unserved {
				continue
			}
			of := entry(documentPath(e.GroupVersion()), e.GroupVersion())
			of.kinds = append(of.kinds, kind.Entry{Kind: kind.In(k, e), Endpoint: e})
			switch {
			case custom:
			case e.Group == "":
				entry("api", schema.GroupVersion{})
			default:
				entry("apis/"+e.Group, schema.GroupVersion{Group: e.Group})
			}
		}
	}
	return entries
}

// finish hashes everything that the document is made from, and encodes the entry's line.
func (e *indexEntry) finish(builtin [sha256.Size]byte) error {
	sum := sha256.New()
	sum.Write(builtin[:])
	sum.Write([]byte(e.path))
	for _, k := range e.kinds {
		if err := writeFacts(sum, k); err != nil {
			return err
		}
	}
	e.hash = strings.ToUpper(hex.EncodeToString(sum.Sum(nil)))
	key, err := json.Marshal(e.path)
	if err != nil {
		return err
	}
	value, err := json.Marshal(map[string]string{"serverRelativeURL": e.url()})
	e.line = slices.Concat(key, []byte{':'}, value)
	return err
}

// writeFacts writes everything that a document contains about a kind.
func writeFacts(sum interface{ Write([]byte) (int, error) }, k kind.Entry) error {
	info := k.Kind.Info()
	facts := []any{
		info.Kind, info.ListKind(), info.Plural, info.Namespaced, info.Verbs, info.ReturnsDeleted, k.Endpoint,
	}
	for _, s := range info.SubresourcesOf(k.Endpoint.GroupVersion()) {
		facts = append(facts, s.Name, s.Kind, s.Verbs, s.Connect)
	}
	if own, ok := k.Kind.(kind.Custom); ok {
		facts = append(facts, own.RawSchema(k.Endpoint.Version), own.PreservesUnknownFields())
	}
	if err := json.NewEncoder(sum).Encode(facts); err != nil {
		return fmt.Errorf("OpenAPI of %s: %w", info.GroupResource(), err)
	}
	return nil
}

// typedVersions returns the group-versions that have built-in kinds.
func (x *index) typedVersions() []schema.GroupVersion {
	var versions []schema.GroupVersion
	for _, path := range slices.Sorted(maps.Keys(x.entries)) {
		if e := x.entries[path]; e.typed() {
			versions = append(versions, e.gv)
		}
	}
	return versions
}
