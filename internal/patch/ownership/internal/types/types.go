// Package types defines a compact text format for the schemas that field ownership needs: which lists are
// sets or maps with keys, and which values are atomic. The command in internal/patch/ownership/gen writes it
// at development time. Package ownership parses the types that a kind refers to when the first object of that
// kind is written.
//
// Each line is one type: its name, its kind (apiVersion and kind, or -), and its shape as JSON.
package types

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// shape is schema.Atom with short names: one field is set, or several for a value that may have any type.
type shape struct {
	Scalar string `json:"s,omitempty"`
	List   *list  `json:"l,omitempty"`
	Map    *table `json:"m,omitempty"`
}

// reference is schema.TypeRef: a name, or an inlined shape.
type reference struct {
	shape
	Name         string  `json:"t,omitempty"`
	Relationship *string `json:"r,omitempty"`
	Nullable     bool    `json:"z,omitempty"`
}

type list struct {
	Element      reference `json:"e"`
	Relationship string    `json:"r,omitempty"`
	Keys         []string  `json:"k,omitempty"`
}

type table struct {
	Fields       []member   `json:"f,omitempty"`
	Element      *reference `json:"e,omitempty"`
	Relationship string     `json:"r,omitempty"`
}

type member struct {
	Name    string    `json:"n"`
	Type    reference `json:"t"`
	Default any       `json:"d,omitempty"`
}

// Line formats a type. kind is empty for a type that is not a kind.
func Line(def schema.TypeDef, kind string) (string, error) {
	data, err := json.Marshal(shapeOf(def.Atom))
	if err != nil {
		return "", fmt.Errorf("type %s: %w", def.Name, err)
	}
	if kind == "" {
		kind = "-"
	}
	return def.Name + " " + kind + " " + string(data) + "\n", nil
}

func shapeOf(a schema.Atom) shape {
	var s shape
	if a.Scalar != nil {
		s.Scalar = string(*a.Scalar)
	}
	if a.List != nil {
		s.List = &list{Element: referenceOf(a.List.ElementType), Relationship: string(a.List.ElementRelationship),
			Keys: a.List.Keys}
	}
	if a.Map != nil {
		s.Map = &table{Relationship: string(a.Map.ElementRelationship)}
		if e := referenceOf(a.Map.ElementType); e != (reference{}) {
			s.Map.Element = &e
		}
		for _, f := range a.Map.Fields {
			m := member{Name: f.Name, Type: referenceOf(f.Type)}
			switch f.Default.(type) {
			case string, bool, float64, int64: // a key of a list may have one; others mean nothing here
				m.Default = f.Default
			}
			s.Map.Fields = append(s.Map.Fields, m)
		}
	}
	return s
}

func referenceOf(t schema.TypeRef) reference {
	r := reference{shape: shapeOf(t.Inlined), Nullable: t.Nullable}
	if t.NamedType != nil {
		r.Name = *t.NamedType
	}
	if t.ElementRelationship != nil {
		r.Relationship = (*string)(t.ElementRelationship)
	}
	return r
}

// References returns the names that a type refers to, including those in inlined types.
func References(a schema.Atom) []string {
	var names []string
	var visit func(schema.Atom)
	follow := func(t schema.TypeRef) {
		if t.NamedType != nil {
			names = append(names, *t.NamedType)
		}
		visit(t.Inlined)
	}
	visit = func(a schema.Atom) {
		if a.List != nil {
			follow(a.List.ElementType)
		}
		if a.Map != nil {
			follow(a.Map.ElementType)
			for _, f := range a.Map.Fields {
				follow(f.Type)
			}
		}
	}
	visit(a)
	return names
}

func (s shape) atom() schema.Atom {
	var a schema.Atom
	if s.Scalar != "" {
		scalar := schema.Scalar(s.Scalar)
		a.Scalar = &scalar
	}
	if s.List != nil {
		a.List = &schema.List{
			ElementType: s.List.Element.typeRef(), ElementRelationship: schema.ElementRelationship(s.List.Relationship),
			Keys: s.List.Keys,
		}
	}
	if s.Map != nil {
		a.Map = &schema.Map{ElementRelationship: schema.ElementRelationship(s.Map.Relationship)}
		if s.Map.Element != nil {
			a.Map.ElementType = s.Map.Element.typeRef()
		}
		for _, f := range s.Map.Fields {
			a.Map.Fields = append(a.Map.Fields,
				schema.StructField{Name: f.Name, Type: f.Type.typeRef(), Default: f.Default})
		}
	}
	return a
}

func (r reference) typeRef() schema.TypeRef {
	t := schema.TypeRef{Inlined: r.atom(), Nullable: r.Nullable,
		ElementRelationship: (*schema.ElementRelationship)(r.Relationship)}
	if r.Name != "" {
		t.NamedType = &r.Name
	}
	return t
}
