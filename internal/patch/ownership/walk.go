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

// nobodys are the fields of metadata that nobody owns: the server's own.
var nobodys = []string{
	"clusterName", "creationTimestamp", "generation", "managedFields", "name", "namespace", "resourceVersion", "selfLink", "uid",
}

// fieldsOf are the fields that an object (a struct, or maps) has beyond an empty one, as the bytes of a FieldsV1: nil for
// none. The top-level field that is kept belongs to nobody. ok is false for what only the library judges: values that are
// not of their type, items of a list that stand twice or have no key, names that JSON has to escape.
func fieldsOf(t *typed.ParseableType, was, is reflect.Value, kept string) (fields []byte, ok bool) {
	w := &walk{schema: t.Schema, out: make([]byte, 0, 512)}
	atom, ok := w.schema.Resolve(t.TypeRef)
	if !ok || atom.Map == nil || atom.Map.ElementRelationship == schema.Atomic {
		return nil, false
	}
	if !w.mapItems(atom.Map, look(was), look(is), false, []string{"apiVersion", "kind", kept}) {
		return nil, !w.strange
	}
	return w.out, !w.strange
}

// walk writes a FieldsV1 (KEP-555): each field that is owned is a name with an object, which has "." when the field itself
// is owned beside what is in it.
type walk struct {
	schema *schema.Schema
	out    []byte
	// depth counts the maps that the walk is in.
	depth int
	// strange says that something was met that only the library judges.
	strange bool
}

func (w *walk) stop() bool {
	w.strange = true
	return false
}

// node writes what is owned of a value, or says false and writes nothing. was is what the empty object has in its place.
func (w *walk) node(t schema.TypeRef, was, is seen) bool {
	atom, ok := w.schema.Resolve(t)
	anything := atom.Map != nil && atom.List != nil
	switch {
	case !ok || was.shape == null && is.shape != null && anything:
		return w.stop()
	case was.shape > null && was.shape != is.shape:
		return w.stop()
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
		return w.node(t, was, is.clear())
	case is.shape == opaque && anything, !fits(atom.Scalar, is.shape):
		return w.stop()
	}
	return w.leaf(was, is)
}

// fits says whether a value is of a scalar type.
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

// leaf writes a value that is owned as a whole, if it is other than it was.
func (w *walk) leaf(was, is seen) bool {
	if was.shape == is.shape {
		if is.shape == null || reflect.DeepEqual(was.v.Interface(), is.v.Interface()) {
			return false
		}
		if is.shape < number && !was.empty() && !is.empty() {
			return w.stop() // the library knows more that is equal
		}
		if is.shape < number && was.empty() && is.empty() {
			return false
		}
	}
	w.out = append(w.out, "{}"...)
	return true
}

// mapItems writes the items of a map or struct. self says that the map is owned itself.
func (w *walk) mapItems(m *schema.Map, was, is seen, self bool, without []string) bool {
	begin := w.open(self)
	w.depth++
	is.items(func(name string, v reflect.Value) {
		if w.strange || slices.Contains(without, name) {
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
		if !w.item(name, t, old, look(v)) {
			w.out = w.out[:before]
		}
	})
	w.depth--
	return w.close(begin)
}

// item writes an item of a map; the object's metadata has some that belong to nobody.
func (w *walk) item(name string, t schema.TypeRef, was, is seen) bool {
	if w.depth > 1 || name != "metadata" {
		return w.node(t, was, is)
	}
	meta, ok := w.schema.Resolve(t)
	if !ok || meta.Map == nil || is.shape != mapping || was.shape > null && was.shape != mapping {
		return w.stop()
	}
	return w.mapItems(meta.Map, was, is, false, nobodys)
}

// listed is an item of a list, by what it is known by.
type listed struct {
	key fieldpath.PathElement
	v   reflect.Value
}

// listItems writes the items of a list that is a set, or a map by keys.
func (w *walk) listItems(l *schema.List, was, is seen) bool {
	if was.shape == list && !was.empty() {
		return w.stop()
	}
	items := make([]listed, is.v.Len())
	for i := range items {
		v := is.v.Index(i)
		key, ok := w.key(l, look(v))
		if !ok {
			return w.stop()
		}
		items[i] = listed{key, v}
	}
	slices.SortFunc(items, func(a, b listed) int { return a.key.Compare(b.key) })
	begin := w.open(was.shape == absent)
	for i := 0; i < len(items) && !w.strange; i++ {
		if i > 0 && items[i].key.Equals(items[i-1].key) {
			return w.stop()
		}
		before := w.comma(begin)
		name, err := fieldpath.SerializePathElement(items[i].key)
		if err != nil {
			return w.stop()
		}
		w.out = append(w.out, '"')
		w.name(name)
		if !w.node(l.ElementType, seen{}, look(items[i].v)) {
			w.out = w.out[:before]
		}
	}
	return w.close(begin)
}

// key is what an item of a list is known by: itself in a set, or the fields that are the list's keys.
func (w *walk) key(l *schema.List, item seen) (key fieldpath.PathElement, ok bool) {
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

// open begins an object, and says where.
func (w *walk) open(self bool) int {
	begin := len(w.out)
	w.out = append(w.out, '{')
	if self {
		w.out = append(w.out, `".":{}`...)
	}
	return begin
}

// comma goes before an item that is not the first, and says where.
func (w *walk) comma(begin int) int {
	before := len(w.out)
	if before > begin+1 {
		w.out = append(w.out, ',')
	}
	return before
}

// close ends an object, or takes it back when nothing is in it.
func (w *walk) close(begin int) bool {
	if len(w.out) == begin+1 {
		w.out = w.out[:begin]
		return false
	}
	w.out = append(w.out, '}')
	return true
}

// name writes the rest of a name.
func (w *walk) name(name string) {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' || strings.IndexByte("<>&", c) >= 0 {
			w.strange = true
		} else if c == '"' || c == '\\' {
			w.out = append(w.out, '\\', c)
		} else {
			w.out = append(w.out, c)
		}
	}
	w.out = append(w.out, `":`...)
}
