// Package manifest reads declared objects from files, folders and standard input, in YAML and JSON, and
// records the source location of each. It parses and sorts the objects for applying; it neither validates
// fields nor sends anything. The command bowline up calls it.
package manifest

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Source is the location of a document.
type Source struct {
	File     string // "-" for standard input
	Document int    // counted from 1 within the file
	Line     int    // the first line of the document, or the line of an error, counted from 1
	Item     int    // counted from 1 within a List; 0 outside one
}

// String returns FILE:LINE, which editors understand, followed by the document and item numbers if needed.
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

// Declared is an object with its source location.
type Declared struct {
	Object *unstructured.Unstructured
	Source Source
}

// Error reports a document, or a whole file, that cannot be read. Parse continues with the other documents.
type Error struct {
	Source Source
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Source, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Groups of kinds in the order of applying, such that each group depends only on earlier ones.
const (
	definitions = iota
	namespaces
	rest
)

// Sort sorts objects for applying: definitions first, then namespaces, then all others. It is stable.
func Sort(declared []Declared) {
	slices.SortStableFunc(declared, func(a, b Declared) int { return applyOrder(a) - applyOrder(b) })
}

// applyOrder returns the group of an object.
func applyOrder(d Declared) int {
	switch kind := d.Object.GroupVersionKind().GroupKind(); {
	case kind.Group == "apiextensions.k8s.io" && kind.Kind == "CustomResourceDefinition":
		return definitions
	case kind.Group == "" && kind.Kind == "Namespace":
		return namespaces
	}
	return rest
}
