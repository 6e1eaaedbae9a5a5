package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

var (
	configMaps = schema.GroupResource{Resource: "configmaps"}
	networks   = schema.GroupResource{Group: "samplecrd.k8s.io", Resource: "networks"}

	// all is the prefix of the config maps, and inDefault that of the namespace used by Key.
	all       = object.Prefix(configMaps, "")
	inDefault = object.Prefix(configMaps, "default")
)

// Key returns the key of a config map in the namespace default.
func Key(name string) object.Key { return object.KeyOf(configMaps, "default", name) }

// NewObject returns an object, encoded as by a server, with a value that Value returns. A value such as red-7
// adds the label colour=red. The object has no codec, so it can only be read in its own form.
func NewObject(key object.Key, value string) *object.Object {
	data := fmt.Appendf(nil,
		`{"kind":"Test","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"uid":%q,"resourceVersion":%q},"value":%q}`,
		key.Name(), key.Namespace(), "uid-of-"+key.Name(), object.RevisionPlaceholder, value)
	encoding, err := object.NewEncoding(object.Form{APIVersion: "v1"}, data)
	if err != nil {
		panic(err) // the data is valid
	}
	header := object.Header{Key: key, UID: types.UID("uid-of-" + key.Name())}
	if colour, _, ok := strings.Cut(value, "-"); ok {
		header.Labels = map[string]string{"colour": colour}
	}
	return object.New(header, nil, encoding)
}

// Value returns the value of an object from NewObject; "" for nil.
func Value(o *object.Object) string {
	if o == nil {
		return ""
	}
	_, rest, _ := bytes.Cut(encoded(o), []byte(`"value":"`))
	return string(rest[:len(rest)-len(`"}`)])
}

// encoded returns an object's bytes.
func encoded(o *object.Object) []byte { return o.Stored().Bytes() }

// Put returns a change that writes a value.
func Put(key object.Key, value string, expect store.Expect) store.Change {
	return store.Change{Key: key, Object: NewObject(key, value), Expect: expect}
}

// Delete returns a change that deletes a key.
func Delete(key object.Key, expect store.Expect) store.Change {
	return store.Change{Key: key, Expect: expect}
}

// commit commits, and fails the test on an error.
func commit(t *testing.T, s *store.Store, changes ...store.Change) object.Revision {
	t.Helper()
	revision, err := s.Commit(t.Context(), changes...)
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	return revision
}

// set writes a value to a key unconditionally.
func set(t *testing.T, s *store.Store, key object.Key, value string) object.Revision {
	t.Helper()
	return commit(t, s, Put(key, value, store.Anything()))
}

// contents lists the objects of a prefix in key order, as name=value@revision with revisions relative to
// base.
func contents(snapshot *store.Snapshot, prefix object.Key, base object.Revision) []string {
	var lines []string
	snapshot.Scan(prefix, "", func(o *object.Object) bool {
		lines = append(lines, fmt.Sprintf("%s=%s@%d", o.Key.Name(), Value(o), o.Revision-base))
		return true
	})
	return lines
}

// snapshot returns a snapshot, and fails the test on an error.
func snapshot(t *testing.T, s *store.Store, which store.RevisionSelector) *store.Snapshot {
	t.Helper()
	snapshot, err := s.Snapshot(t.Context(), which)
	if err != nil {
		t.Fatalf("snapshot: %v", err)
	}
	return snapshot
}
