package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// TestSelectUsesLatestLabels changes the label of every third object and deletes every
// seventh. A selection must use the marks of the labels in its own snapshot, and yield in key order.
func TestSelectUsesLatestLabels(t *testing.T) {
	t.Parallel()
	s, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	commit := func(c store.Change) {
		t.Helper()
		if _, err := s.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	const count = 500
	old, young := "old", "young"
	for n := 0; markOf(old) == markOf(young); n++ { // marks depend on the process
		young = fmt.Sprint("young", n)
	}
	key := func(i int) object.Key { return object.Key(fmt.Sprintf("/configmaps/n%d/m-%03d", i%2, i)) }
	for i := range count {
		commit(store.Change{Key: key(i), Object: labelled(t, key(i), old), Expect: store.Absent()})
	}
	before := snapshotOf(t, s)
	for i := range count {
		if i%3 == 0 {
			commit(store.Change{Key: key(i), Object: labelled(t, key(i), young)})
		}
		if i%7 == 0 {
			commit(store.Change{Key: key(i)})
		}
	}
	after := snapshotOf(t, s)
	selects(t, before, "/configmaps/", "", old, count)
	selects(t, before, "/configmaps/", "", young, 0)
	for prefix, from := range map[object.Key]object.Key{
		"/configmaps/": "", "/configmaps/n0/": "", "/configmaps/n1/": "/configmaps/n1/m-111",
		"/configmaps/n1/m-009": "",
	} {
		for _, value := range []string{old, young} {
			n := 0
			after.Scan(prefix, from, func(o *object.Object) bool {
				if o.Labels["age"] == value {
					n++
				}
				return true
			})
			selects(t, after, prefix, from, value, n)
		}
	}
}

// selects checks that a selection by mark yields count objects, all with a label's value.
func selects(t *testing.T, s *store.Snapshot, prefix, from object.Key, value string, count int) {
	t.Helper()
	var keys []object.Key
	s.Select(prefix, from, func(m object.Mark) bool { return m == markOf(value) }, func(o *object.Object) bool {
		if o.Labels["age"] != value {
			t.Errorf("%s has the label %q, and %q was selected", o.Key, o.Labels["age"], value)
		}
		keys = append(keys, o.Key)
		return true
	})
	if len(keys) != count || !slices.IsSorted(keys) {
		t.Errorf("age=%s of %q from %q: %d objects (in order: %t), want %d", value, prefix, from, len(keys),
			slices.IsSorted(keys), count)
	}
}

// markOf returns the mark of an object with one label.
func markOf(age string) object.Mark { return object.MarkLabel("age", age) | object.MarkKey("age") }

func labelled(t *testing.T, key object.Key, value string) *object.Object {
	t.Helper()
	data := fmt.Appendf(nil, `{"metadata":{"name":%q,"resourceVersion":"%s"}}`, key.Name(), object.RevisionPlaceholder)
	e, err := object.NewEncoding(object.Form{}, data)
	if err != nil {
		t.Fatal(err)
	}
	return object.New(object.Header{Key: key, Labels: map[string]string{"age": value}}, nil, e)
}

func snapshotOf(t *testing.T, s *store.Store) *store.Snapshot {
	t.Helper()
	snapshot, err := s.Snapshot(t.Context(), store.Latest())
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}
