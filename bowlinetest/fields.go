package bowlinetest

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// jsonField is a field of a struct as encoding/json sees it.
type jsonField struct {
	name     string
	goType   reflect.Type
	tagged   bool // the name comes from the tag
	optional bool // omitted when it is empty
	quoted   bool // a number or bool that is written as a string
}

// jsonFields returns the fields of a struct and of the structs embedded in it, sorted by name. It follows
// encoding/json: the least nested field of a name wins; among several at one depth, the only tagged one wins;
// if that leaves several, none has the name.
func jsonFields(of reflect.Type) (fields []jsonField) {
	known, visited := map[string]bool{}, map[reflect.Type]bool{}
	for level := []reflect.Type{of}; len(level) > 0; {
		byName := map[string][]jsonField{}
		var deeper []reflect.Type
		for _, t := range level {
			visited[t] = true
			direct, embedded := directFields(t)
			for _, f := range direct {
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

// directFields returns the fields of one struct, and the embedded structs whose fields are promoted.
func directFields(t reflect.Type) (direct []jsonField, embedded []reflect.Type) {
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
			direct = append(direct, newJSONField(field, name, strings.Split(options, ",")))
		}
	}
	return direct, embedded
}

func newJSONField(field reflect.StructField, tagged string, options []string) jsonField {
	return jsonField{
		name: cmp.Or(tagged, field.Name), goType: field.Type, tagged: tagged != "",
		optional: slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero"),
		quoted:   slices.Contains(options, "string"),
	}
}

// dominant returns the field that wins a name among those at one depth; the result is false if none does.
func dominant(candidates []jsonField) (jsonField, bool) {
	if len(candidates) > 1 {
		candidates = slices.DeleteFunc(candidates, func(f jsonField) bool { return !f.tagged })
	}
	if len(candidates) != 1 {
		return jsonField{}, false
	}
	return candidates[0], true
}
