package bowlinetest

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// jsonField is a field of a struct as encoding/json has it.
type jsonField struct {
	name     string
	goType   reflect.Type
	tagged   bool // the name is of a tag, and not Go's
	optional bool // left out when it is empty
	quoted   bool // a number or a bool that is written as a string
}

// jsonFields are the fields of a struct and of those embedded in it, by the rules of encoding/json: of fields with one name that
// of the outermost struct counts; of those at one depth the one with a tag; and where that leaves several, none.
func jsonFields(of reflect.Type) (fields []jsonField) {
	known, visited := map[string]bool{}, map[reflect.Type]bool{}
	for level := []reflect.Type{of}; len(level) > 0; {
		byName := map[string][]jsonField{}
		var deeper []reflect.Type
		for _, t := range level {
			visited[t] = true
			own, embedded := ownFields(t)
			for _, f := range own {
				byName[f.name] = append(byName[f.name], f)
			}
			deeper = append(deeper, embedded...)
		}
		for name, candidates := range byName {
			if f, ok := dominant(candidates); ok && !known[name] {
				fields = append(fields, f)
			}
			known[name] = true
		}
		level = slices.DeleteFunc(deeper, func(t reflect.Type) bool { return visited[t] })
	}
	slices.SortFunc(fields, func(a, b jsonField) int { return cmp.Compare(a.name, b.name) })
	return fields
}

// ownFields are the fields of one struct, and the structs whose fields appear among them.
func ownFields(t reflect.Type) (own []jsonField, embedded []reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case tag == "-":
		case field.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			embedded = append(embedded, inner)
		case field.IsExported():
			own = append(own, newJSONField(field, name, strings.Split(options, ",")))
		}
	}
	return own, embedded
}

func newJSONField(field reflect.StructField, tagged string, options []string) jsonField {
	return jsonField{
		name: cmp.Or(tagged, field.Name), goType: field.Type, tagged: tagged != "",
		optional: slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero"),
		quoted:   slices.Contains(options, "string"),
	}
}

// dominant is the field that has a name, of those at one depth.
func dominant(candidates []jsonField) (jsonField, bool) {
	if len(candidates) > 1 {
		candidates = slices.DeleteFunc(candidates, func(f jsonField) bool { return !f.tagged })
	}
	if len(candidates) != 1 {
		return jsonField{}, false
	}
	return candidates[0], true
}
