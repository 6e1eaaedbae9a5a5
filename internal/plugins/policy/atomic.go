package policy

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/patch/ownership"
)

// checkAtomics returns an error if an apply configuration has an atomic list, map or struct, because such a value
// replaces the value of the object. merged is the result of the apply to live. In the fields that the applier owns
// after the apply, an atomic value is one leaf. So is an empty list or map: checkAtomics rejects it only if the merge
// emptied a value that had items.
func checkAtomics(document *unstructured.Unstructured, live, merged kind.Object) error {
	owned := fieldpath.NewSet()
	for _, e := range ownership.Entries(merged) {
		if e.Manager == applier && e.Operation == metav1.ManagedFieldsOperationApply && e.FieldsV1 != nil {
			if err := owned.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
				return err
			}
		}
	}
	root := value.NewValueInterface(document.Object)
	var atomics []string
	owned.Leaves().Iterate(func(path fieldpath.Path) {
		shown, v := locate(root, path)
		switch items := count(v); {
		case items < 0:
			return
		case items == 0:
			_, before := locate(contentOf(live), path)
			_, after := locate(contentOf(merged), path)
			if count(before) <= 0 || count(after) > 0 {
				return
			}
		}
		atomics = append(atomics, shown)
	})
	if len(atomics) > 0 {
		return errAtomic(atomics...)
	}
	return nil
}

func errAtomic(paths ...string) error {
	return fmt.Errorf("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: %s",
		strings.Join(paths, ", "))
}

// contentOf returns an object as a value.
func contentOf(obj kind.Object) value.Value {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return value.NewValueInterface(u.Object)
	}
	v, err := value.NewValueReflect(obj)
	if err != nil {
		return nil
	}
	return v
}

// count returns the number of items of a list or a map, and -1 for another value.
func count(v value.Value) int {
	switch {
	case v == nil:
		return -1
	case v.IsMap():
		return v.AsMap().Length()
	case v.IsList():
		return v.AsList().Length()
	}
	return -1
}

// locate returns the value at a path, nil if there is none, and the path with the positions of items of lists.
func locate(v value.Value, path fieldpath.Path) (string, value.Value) {
	var shown strings.Builder
	for i := range path {
		step := path[i]
		if v == nil {
			return "", nil
		}
		if step.FieldName != nil {
			if !v.IsMap() {
				return "", nil
			}
			v, _ = v.AsMap().Get(*step.FieldName)
		} else {
			at := -1
			if v.IsList() {
				at = position(v.AsList(), step)
			}
			if at < 0 {
				return "", nil
			}
			v, step = v.AsList().At(at), fieldpath.PathElement{Index: &at}
		}
		shown.WriteString(step.String())
	}
	return shown.String(), v
}

// position returns the index of an item in a list, -1 if there is none.
func position(list value.List, step fieldpath.PathElement) int {
	for i := range list.Length() {
		item := list.At(i)
		switch {
		case step.Index != nil && *step.Index == i,
			step.Value != nil && value.Equals(item, *step.Value),
			step.Key != nil && hasKey(item, *step.Key):
			return i
		}
	}
	return -1
}

// hasKey reports whether an item has a key. A field of the key that the item does not set is taken to match, because it
// has a default.
func hasKey(item value.Value, key value.FieldList) bool {
	if !item.IsMap() {
		return false
	}
	for _, part := range key {
		if v, ok := item.AsMap().Get(part.Name); ok && !value.Equals(v, part.Value) {
			return false
		}
	}
	return true
}
