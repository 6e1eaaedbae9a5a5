package openapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// compressedDefinitions are the schemas of all built-in types by name (io.k8s.api.core.v1.Pod), as one JSON object,
// with patch merge keys, list types, defaults and the kinds that they are the schema of.
//
//go:generate go run ./gen definitions.json.gz
//go:embed definitions.json.gz
var compressedDefinitions []byte

const (
	refPrefix      = "#/components/schemas/"
	metaPrefix     = "io.k8s.apimachinery.pkg.apis.meta.v1."
	anyObjectName  = metaPrefix + "PartialObjectMetadata"
	anyListName    = metaPrefix + "PartialObjectMetadataList"
	statusName     = metaPrefix + "Status"
	patchName      = metaPrefix + "Patch"
	deleteName     = metaPrefix + "DeleteOptions"
	kindsExtension = "x-kubernetes-group-version-kind"
)

// definitions are the schemas that a document is made from. They live as long as it takes to make one.
type definitions struct {
	schemas map[string]json.RawMessage
	names   map[schema.GroupVersionKind]string
}

// groupVersionKind is a kind as the documents write it.
type groupVersionKind struct {
	Group   string `json:"group"`
	Kind    string `json:"kind"`
	Version string `json:"version"`
}

func wireKind(gvk schema.GroupVersionKind) groupVersionKind {
	return groupVersionKind{Group: gvk.Group, Kind: gvk.Kind, Version: gvk.Version}
}

// loadDefinitions unpacks the built-in schemas. It takes some ten milliseconds, which is why nothing does so before a
// document is asked for.
func loadDefinitions() (*definitions, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressedDefinitions))
	if err != nil {
		return nil, fmt.Errorf("built-in OpenAPI definitions: %w", err)
	}
	d := &definitions{names: map[schema.GroupVersionKind]string{}}
	if err := json.NewDecoder(r).Decode(&d.schemas); err != nil {
		return nil, fmt.Errorf("built-in OpenAPI definitions: %w", err)
	}
	for name, raw := range d.schemas {
		if !bytes.Contains(raw, []byte(kindsExtension)) {
			continue
		}
		var described struct {
			Kinds []groupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		if err := json.Unmarshal(raw, &described); err != nil {
			return nil, fmt.Errorf("built-in OpenAPI definition %s: %w", name, err)
		}
		for _, k := range described.Kinds {
			d.names[schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}] = name
		}
	}
	return d, nil
}

// builtinHash changes when the built-in schemas do.
func builtinHash() [sha256.Size]byte { return sha256.Sum256(compressedDefinitions) }

// properties are the fields of a definition, parsed.
func (d *definitions) properties(name string) (map[string]property, error) {
	var s struct {
		Properties map[string]property `json:"properties"`
	}
	if err := json.Unmarshal(d.schemas[name], &s); err != nil {
		return nil, fmt.Errorf("OpenAPI definition %s: %w", name, err)
	}
	return s.Properties, nil
}

// property is what parameters need of a field's schema.
type property struct {
	Description string `json:"description,omitempty"`
	Type        string `json:"type,omitempty"`
}

// add puts a definition in, under the kind that it is the schema of.
func (d *definitions) add(name string, gvk schema.GroupVersionKind, s map[string]any) error {
	s[kindsExtension] = []groupVersionKind{wireKind(gvk)}
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("OpenAPI definition %s: %w", name, err)
	}
	d.schemas[name] = raw
	d.names[gvk] = name
	return nil
}

// reachable are the definitions with these names and all that they refer to.
func (d *definitions) reachable(names map[string]bool) map[string]json.RawMessage {
	found := map[string]json.RawMessage{}
	var visit func(name string)
	visit = func(name string) {
		raw, known := d.schemas[name]
		if _, seen := found[name]; seen || !known {
			return
		}
		found[name] = raw
		for rest := raw; ; {
			_, after, more := bytes.Cut(rest, []byte(`"`+refPrefix))
			if !more {
				return
			}
			end := bytes.IndexByte(after, '"')
			visit(string(after[:end]))
			rest = after[end:]
		}
	}
	for name := range names {
		visit(name)
	}
	return found
}

// customName is the name of a definition that no Go package has: the group's labels in reverse, version and kind, as
// in com.example.stable.v1.CronTab.
func customName(gvk schema.GroupVersionKind) string {
	labels := strings.Split(gvk.Group, ".")
	slices.Reverse(labels)
	return strings.Join(append(labels, gvk.Version, gvk.Kind), ".")
}
