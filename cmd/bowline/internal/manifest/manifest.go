// Package manifest reads what users declare: files, folders and standard input, in YAML and JSON, into objects that
// remember where they stand. It knows the syntax and the order in which kinds must be applied, and nothing else: it
// validates no field and sends nothing. The command up calls it.
package manifest

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Source is where a document stands.
type Source struct {
	File     string // "-" for standard input
	Document int    // counted from 1 within the file
	Line     int    // the first line of the document, or the line of an error, counted from 1
	Item     int    // counted from 1 within a List; 0 outside one
}

// String is FILE:LINE as editors understand it, followed by what else is needed to find the place.
func (s Source) String() string {
	where := fmt.Sprintf("%s:%d", s.File, s.Line)
	if s.Document > 1 {
		where += fmt.Sprintf(" (document %d)", s.Document)
	}
	if s.Item > 0 {
		where += fmt.Sprintf(" (item %d)", s.Item)
	}
	return where
}

// Declared is one object that a user declared.
type Declared struct {
	Object *unstructured.Unstructured
	Source Source
}

// Error is a document, or a whole file, that cannot be read. The others are read all the same.
type Error struct {
	Source Source
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Source, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// The places of kinds in the order of applying: what others need, first.
const (
	definitions = iota
	namespaces
	rest
)

// Sort orders objects so that each finds what it needs: definitions, then namespaces, then the rest. Within these,
// the order of the user stands.
func Sort(declared []Declared) {
	slices.SortStableFunc(declared, func(a, b Declared) int { return place(a) - place(b) })
}

func place(d Declared) int {
	switch kind := d.Object.GroupVersionKind().GroupKind(); {
	case kind.Group == "apiextensions.k8s.io" && kind.Kind == "CustomResourceDefinition":
		return definitions
	case kind.Group == "" && kind.Kind == "Namespace":
		return namespaces
	}
	return rest
}
