package difference

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// Field is a field whose value differs between two objects.
type Field struct {
	// Path is dotted. A list element is identified by its name if all elements have unique names, as in
	// spec.containers[web].image, and by its index otherwise.
	Path string `json:"path"`
	// Before and After are nil if the field is absent.
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`
}

// Fields returns the fields that differ between two objects, sorted by name within each map.
func Fields(before, after map[string]any) []Field {
	var fields []Field
	compareMaps("", before, after, &fields)
	return fields
}

func compareMaps(path string, before, after map[string]any, into *[]Field) {
	names := slices.Collect(maps.Keys(before))
	for name := range after {
		if _, both := before[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		compare(join(path, name), before[name], after[name], into)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// compare descends into maps and lists if both values are of the same type.
func compare(path string, before, after any, into *[]Field) {
	if reflect.DeepEqual(before, after) {
		return
	}
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			compareMaps(path, b, a, into)
			return
		}
	case []any:
		if a, ok := after.([]any); ok {
			compareLists(path, b, a, into)
			return
		}
	}
	*into = append(*into, Field{path, before, after})
}

func compareLists(path string, before, after []any, into *[]Field) {
	found := len(*into)
	b, a := byName(before), byName(after)
	if b == nil || a == nil {
		b, a = byIndex(before), byIndex(after)
	}
	for _, e := range b.order {
		compare(fmt.Sprintf("%s[%s]", path, e), b.elements[e], a.elements[e], into)
	}
	for _, e := range a.order {
		if _, both := b.elements[e]; !both {
			compare(fmt.Sprintf("%s[%s]", path, e), nil, a.elements[e], into)
		}
	}
	if len(*into) == found { // the same elements in a different order
		*into = append(*into, Field{path, before, after})
	}
}

// named holds the elements of a list under their names or indices, in order.
type named struct {
	order    []string
	elements map[string]any
}

func (n *named) add(name string, element any) {
	n.order = append(n.order, name)
	n.elements[name] = element
}

// byName returns the elements by name, or nil unless every element has a unique name.
func byName(list []any) *named {
	n := &named{elements: map[string]any{}}
	for _, element := range list {
		m, _ := element.(map[string]any)
		name, ok := m["name"].(string)
		if _, twice := n.elements[name]; !ok || twice {
			return nil
		}
		n.add(name, element)
	}
	return n
}

func byIndex(list []any) *named {
	n := &named{elements: map[string]any{}}
	for i, element := range list {
		n.add(strconv.Itoa(i), element)
	}
	return n
}
