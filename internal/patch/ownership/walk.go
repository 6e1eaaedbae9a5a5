package ownership

import (
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// unownedFields are the fields of metadata without owners, because the server sets them.
var unownedFields = []string{
	"clusterName", "creationTimestamp", "generation", "managedFields", "name", "namespace", "resourceVersion",
	"selfLink", "uid",
}

// fieldsOf returns the fields that an object (a struct or maps) has in addition to an empty one, encoded as
// FieldsV1; nil if there are none. The top-level fields in preserved are excluded. ok is false if only the
// library can decide: for values of the wrong type, list items with duplicate or missing keys, and names that
// need escapes in JSON.
func fieldsOf(t *typed.ParseableType, was, is reflect.Value, preserved []string) (fields []byte, ok bool) {
	w := &walk{schema: t.Schema, out: make([]byte, 0, 512)}
	atom, ok := w.schema.Resolve(t.TypeRef)
	if !ok || atom.Map == nil || atom.Map.ElementRelationship == schema.Atomic {
		return nil, false
	}
	if !w.mapItems(atom.Map, resolve(was), resolve(is), false, append([]string{"apiVersion", "kind"}, preserved...)) {
		return nil, !w.unsupported
	}
	return w.out, !w.unsupported
}

// walk encodes a FieldsV1 (KEP-555): each owned field is a name with an object, which contains "." if the
// field itself is owned in addition to its contents.
type walk struct {
	schema *schema.Schema
	out    []byte
	// depth is the number of enclosing maps.
	depth int
	// unsupported is set if only the library can decide.
	unsupported bool
}

func (w *walk) fail() bool {
	w.unsupported = true
	return false
}

// node encodes the owned fields of a value, or returns false and encodes nothing. was is the value in the
// empty object.
func (w *walk) node(t schema.TypeRef, was, is shapedValue) bool {
	atom, ok := w.schema.Resolve(t)
	anything := atom.Map != nil && atom.List != nil
	switch {
	case !ok || was.shape == null && is.shape != null && anything:
		return w.fail()
	case was.shape > null && was.shape != is.shape:
		return w.fail()
	case is.shape == null:
		return w.leaf(was, is)
	case is.shape == mapping && atom.Map != nil:
		if atom.Map.ElementRelationship == schema.Atomic || is.empty() && was.empty() {
			return w.leaf(was, is)
		}
		return w.mapItems(atom.Map, was, is, was.shape == absent, nil)
	case is.shape == list && atom.List != nil:
		if atom.List.ElementRelationship == schema.Atomic || is.empty() && was.empty() {
			return w.leaf(was, is)
		}
		return w.listItems(atom.List, was, is)
	case is.shape == opaque && anything && was.shape == absent:
		return w.node(t, was, is.encoded())
	case is.shape == opaque && anything, !fits(atom.Scalar, is.shape):
		return w.fail()
	}
	return w.leaf(was, is)
}

// fits reports whether a value has a scalar type.
func fits(s *schema.Scalar, is shape) bool {
	if s == nil {
		return false
	}
	switch *s {
	case schema.Numeric:
		return is == number
	case schema.String:
		return is == text
	case schema.Boolean:
		return is == boolean
	}
	return is >= number
}

// leaf encodes a value that is owned as a whole, if it differs from the old one.
func (w *walk) leaf(was, is shapedValue) bool {
	if was.shape == is.shape {
		if is.shape == null || reflect.DeepEqual(was.v.Interface(), is.v.Interface()) {
			return false
		}
		if is.shape < number && !was.empty() && !is.empty() {
			return w.fail() // the library treats more values as equal
		}
		if is.shape < number && was.empty() && is.empty() {
			return false
		}
	}
	w.out = append(w.out, "{}"...)
	return true
}

// mapItems encodes the items of a map or struct, except those named without. self is true if the map itself is owned.
func (w *walk) mapItems(m *schema.Map, was, is shapedValue, self bool, without []string) bool {
	begin := w.open(self)
	w.depth++
	is.items(func(name string, v reflect.Value) {
		if w.unsupported || slices.Contains(without, name) {
			return
		}
		t := m.ElementType
		if f, ok := m.FindField(name); ok {
			t = f.Type
		}
		before := w.comma(begin)
		w.out = append(w.out, `"f:`...)
		w.name(name)
		old := was.item(name)
		if !w.item(name, t, old, resolve(v)) {
			w.out = w.out[:before]
		}
	})
	w.depth--
	return w.close(begin)
}

// item encodes an item of a map. Some fields of the object's metadata have no owner.
func (w *walk) item(name string, t schema.TypeRef, was, is shapedValue) bool {
	if w.depth > 1 || name != "metadata" {
		return w.node(t, was, is)
	}
	meta, ok := w.schema.Resolve(t)
	if !ok || meta.Map == nil || is.shape != mapping || was.shape > null && was.shape != mapping {
		return w.fail()
	}
	return w.mapItems(meta.Map, was, is, false, unownedFields)
}

// keyedItem is an item of a list with its key.
type keyedItem struct {
	key fieldpath.PathElement
	v   reflect.Value
}

// listItems encodes the items of a list that is a set, or a map by keys.
func (w *walk) listItems(l *schema.List, was, is shapedValue) bool {
	if was.shape == list && !was.empty() {
		return w.fail()
	}
	items := make([]keyedItem, is.v.Len())
	for i := range items {
		v := is.v.Index(i)
		key, ok := w.key(l, resolve(v))
		if !ok {
			return w.fail()
		}
		items[i] = keyedItem{key, v}
	}
	slices.SortFunc(items, func(a, b keyedItem) int { return a.key.Compare(b.key) })
	begin := w.open(was.shape == absent)
	for i := 0; i < len(items) && !w.unsupported; i++ {
		if i > 0 && items[i].key.Equals(items[i-1].key) {
			return w.fail()
		}
		before := w.comma(begin)
		name, err := fieldpath.SerializePathElement(items[i].key)
		if err != nil {
			return w.fail()
		}
		w.out = append(w.out, '"')
		w.name(name)
		if !w.node(l.ElementType, shapedValue{}, resolve(items[i].v)) {
			w.out = w.out[:before]
		}
	}
	return w.close(begin)
}

// key returns the key of a list item: the item itself in a set, or the fields that are the list's keys.
func (w *walk) key(l *schema.List, item shapedValue) (key fieldpath.PathElement, ok bool) {
	if len(l.Keys) == 0 {
		v, ok := item.scalar()
		return fieldpath.PathElement{Value: &v}, ok
	}
	element, ok := w.schema.Resolve(l.ElementType)
	if !ok || element.Map == nil || item.shape != mapping {
		return key, false
	}
	keys := make(value.FieldList, 0, len(l.Keys))
	for _, name := range l.Keys {
		if v := item.item(name); v.shape != absent {
			scalar, ok := v.scalar()
			if !ok {
				return key, false
			}
			keys = append(keys, value.Field{Name: name, Value: scalar})
		} else if f, _ := element.Map.FindField(name); f.Default != nil {
			keys = append(keys, value.Field{Name: name, Value: value.NewValueInterface(f.Default)})
		}
	}
	keys.Sort()
	return fieldpath.PathElement{Key: &keys}, len(keys) > 0
}

// open starts an object, and returns its offset.
func (w *walk) open(self bool) int {
	begin := len(w.out)
	w.out = append(w.out, '{')
	if self {
		w.out = append(w.out, `".":{}`...)
	}
	return begin
}

// comma separates an item from its predecessor, and returns the offset before it.
func (w *walk) comma(begin int) int {
	before := len(w.out)
	if before > begin+1 {
		w.out = append(w.out, ',')
	}
	return before
}

// close ends an object, or removes it if it is empty.
func (w *walk) close(begin int) bool {
	if len(w.out) == begin+1 {
		w.out = w.out[:begin]
		return false
	}
	w.out = append(w.out, '}')
	return true
}

// name encodes the rest of a name.
func (w *walk) name(name string) {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' || strings.IndexByte("<>&", c) >= 0 {
			w.unsupported = true
		} else if c == '"' || c == '\\' {
			w.out = append(w.out, '\\', c)
		} else {
			w.out = append(w.out, c)
		}
	}
	w.out = append(w.out, `":`...)
}
