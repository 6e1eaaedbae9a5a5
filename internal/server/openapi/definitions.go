package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	refPrefix      = "#/components/schemas/"
	metaPrefix     = "io.k8s.apimachinery.pkg.apis.meta.v1."
	anyObjectName  = metaPrefix + "PartialObjectMetadata"
	anyListName    = metaPrefix + "PartialObjectMetadataList"
	statusName     = metaPrefix + "Status"
	patchName      = metaPrefix + "Patch"
	deleteName     = metaPrefix + "DeleteOptions"
	watchEventName = metaPrefix + "WatchEvent"
	kindsExtension = "x-kubernetes-group-version-kind"
)

// definitions are the schemas of one document while it is made.
type definitions struct {
	builtin *archive
	// v2 reports whether they are for an OpenAPI v2 document: schemas of custom resources leave out what v2
	// cannot express.
	v2 bool
	// added are the definitions that no Go package has.
	added map[string]json.RawMessage
	names map[schema.GroupVersionKind]string
}

func newDefinitions(builtin *archive, v2 bool) *definitions {
	return &definitions{
		builtin: builtin, v2: v2,
		added: map[string]json.RawMessage{}, names: map[schema.GroupVersionKind]string{},
	}
}

// groupVersionKind is a kind as documents encode it.
type groupVersionKind struct {
	Group   string `json:"group"`
	Kind    string `json:"kind"`
	Version string `json:"version"`
}

func wireKind(gvk schema.GroupVersionKind) groupVersionKind {
	return groupVersionKind{Group: gvk.Group, Kind: gvk.Kind, Version: gvk.Version}
}

// find returns a definition by name; nil if there is none.
func (d *definitions) find(name string) (json.RawMessage, error) {
	if raw, ok := d.added[name]; ok {
		return raw, nil
	}
	return d.builtin.find(name)
}

// known returns the name of a kind's definition; empty if it has none yet.
func (d *definitions) known(gvk schema.GroupVersionKind) string {
	if name, ok := d.names[gvk]; ok {
		return name
	}
	return d.builtin.names[gvk.Group+"/"+gvk.Version+"/"+gvk.Kind]
}

// properties are the parsed fields of a definition.
func (d *definitions) properties(name string) (map[string]property, error) {
	raw, err := d.find(name)
	if err != nil {
		return nil, err
	}
	var s struct {
		Properties map[string]property `json:"properties"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("OpenAPI definition %s: %w", name, err)
	}
	return s.Properties, nil
}

// property holds the part of a field's schema that parameters need.
type property struct {
	Description string `json:"description,omitempty"`
	Type        string `json:"type,omitempty"`
}

// add adds a definition for a kind.
func (d *definitions) add(name string, gvk schema.GroupVersionKind, s map[string]any) error {
	s[kindsExtension] = []groupVersionKind{wireKind(gvk)}
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("OpenAPI definition %s: %w", name, err)
	}
	d.added[name] = raw
	d.names[gvk] = name
	return nil
}

// shareOptions names the kinds DeleteOptions and WatchEvent of each of these group-versions: each has its
// own, with the same schema.
func (d *definitions) shareOptions(versions []schema.GroupVersion) error {
	for _, name := range []string{deleteName, watchEventName} {
		raw, err := d.find(name)
		if err != nil {
			return err
		}
		var s map[string]any
		if err := json.Unmarshal(raw, &s); err != nil {
			return fmt.Errorf("OpenAPI definition %s: %w", name, err)
		}
		var kinds []groupVersionKind
		for _, gv := range versions {
			kinds = append(kinds, wireKind(gv.WithKind(strings.TrimPrefix(name, metaPrefix))))
		}
		s[kindsExtension] = kinds
		if d.added[name], err = json.Marshal(s); err != nil {
			return fmt.Errorf("OpenAPI definition %s: %w", name, err)
		}
	}
	return nil
}

// reachable returns the definitions with these names and all that they refer to.
func (d *definitions) reachable(names map[string]bool) (map[string]json.RawMessage, error) {
	found := map[string]json.RawMessage{}
	var visit func(name string) error
	visit = func(name string) error {
		if _, seen := found[name]; seen {
			return nil
		}
		raw, err := d.find(name)
		if err != nil || raw == nil {
			return err
		}
		found[name] = raw
		for rest := raw; ; {
			_, after, more := bytes.Cut(rest, []byte(`"`+refPrefix))
			if !more {
				return nil
			}
			end := bytes.IndexByte(after, '"')
			if err := visit(string(after[:end])); err != nil {
				return err
			}
			rest = after[end:]
		}
	}
	for name := range names {
		if err := visit(name); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// customName returns the name of a definition that no Go package has: the labels of the group in reverse,
// version and kind, as in com.example.stable.v1.CronTab.
func customName(gvk schema.GroupVersionKind) string {
	labels := strings.Split(gvk.Group, ".")
	slices.Reverse(labels)
	return strings.Join(append(labels, gvk.Version, gvk.Kind), ".")
}
