package types

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// Index finds types in a text. It parses each type on first use, because most programs write few kinds. Its
// results are shared and must not be modified. It is safe for concurrent use.
type Index struct {
	byName map[string]*entry
	byKind map[string]*entry // keys are like "apps/v1/Deployment"
}

// entry is a line of the text.
type entry struct {
	name, data string

	read       sync.Once // sets the fields below
	def        schema.TypeDef
	references []string
	err        error
}

// NewIndex returns an index of lines in the format of Line.
func NewIndex(text string) *Index {
	x := &Index{byName: map[string]*entry{}, byKind: map[string]*entry{}}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, " ")
		kind, data, _ := strings.Cut(rest, " ")
		e := &entry{name: name, data: data}
		x.byName[name] = e
		if kind != "-" {
			x.byKind[kind] = e
		}
	}
	return x
}

// Find returns the type of a kind (as "apps/v1/Deployment"), or of a name, and all types that it refers to.
// The name is empty if there is no such type. It returns an error if a line is malformed or refers to a
// missing type.
func (x *Index) Find(kind string) (name string, found []schema.TypeDef, err error) {
	first := x.byKind[kind]
	if first == nil {
		first = x.byName[kind]
	}
	if first == nil {
		return "", nil, nil
	}
	seen := map[string]bool{first.name: true}
	for next := []*entry{first}; len(next) > 0; next = next[1:] {
		e := next[0]
		if e.read.Do(e.parse); e.err != nil {
			return "", nil, e.err
		}
		found = append(found, e.def)
		for _, other := range e.references {
			if seen[other] {
				continue
			}
			seen[other] = true
			if x.byName[other] == nil {
				return "", nil, fmt.Errorf("type %s, of which %s has a field, is missing", other, e.name)
			}
			next = append(next, x.byName[other])
		}
	}
	return first.name, found, nil
}

func (e *entry) parse() {
	var s shape
	if err := json.Unmarshal([]byte(e.data), &s); err != nil {
		e.err = fmt.Errorf("type %s: %w", e.name, err)
		return
	}
	e.def = schema.TypeDef{Name: e.name, Atom: s.atom()}
	e.references = References(e.def.Atom)
}
