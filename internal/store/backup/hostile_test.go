package backup_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/backup"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// tampered returns a backup with valid checksums of one object that a server would not have written.
func tampered(t *testing.T, key object.Key, uid types.UID, data string) []byte {
	t.Helper()
	s, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	encoding, err := object.NewEncoding(object.Form{APIVersion: "v1"}, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), store.Change{Key: key,
		Object: object.New(object.Header{Key: key, UID: uid}, nil, encoding)}); err != nil {
		t.Fatal(err)
	}
	snapshot, err := s.Snapshot(t.Context(), store.Latest())
	if err != nil {
		t.Fatal(err)
	}
	return written(t, snapshot)
}

// Checksums do not protect against a writer who computes them: what a server never writes is reported.
func TestTamperedObjectsAreReported(t *testing.T) {
	t.Parallel()
	data := func(name, namespace, uid string) string {
		return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"uid":%q,`+
			`"resourceVersion":%q}}`, name, namespace, uid, object.RevisionPlaceholder)
	}
	own := data("a", "default", "u")
	for name, test := range map[string]struct {
		key          object.Key
		uid          types.UID
		data         string
		inconsistent bool
	}{
		"a key without a slash": {key: "a", uid: "u", data: own},
		"a key of three parts":  {key: "/configmaps/a", uid: "u", data: own},
		"a key of five parts":   {key: "/configmaps/default/a/b", uid: "u", data: own},
		"a key without a name":  {key: "/configmaps/default/", uid: "u", data: own},
		"a key that climbs":     {key: "/configmaps/../a", uid: "u", data: own},
		"a key with ESC":        {key: "/configmaps/default/a\x1b[2J", uid: "u", data: own},
		"a key with C1":         {key: "/configmaps/default/a\u009b2J", uid: "u", data: own},
		"a uid that climbs":     {key: "/configmaps/default/a", uid: "/../../etc", data: data("a", "default", "/../../etc")},
		"a long uid":            {key: "/configmaps/default/a", uid: types.UID(strings.Repeat("u", 200)), data: own},
		"data that is no JSON":  {key: "/configmaps/default/a", uid: "u", data: own + "}"},
		"another name":          {key: "/configmaps/default/a", uid: "u", data: data("b", "default", "u"), inconsistent: true},
		"another namespace":     {key: "/configmaps/default/a", uid: "u", data: data("a", "b", "u"), inconsistent: true},
		"another uid":           {key: "/configmaps/default/a", uid: "u", data: data("a", "default", "/../x"), inconsistent: true},
		"the uid twice": {key: "/configmaps/default/a", uid: "u", inconsistent: true,
			data: strings.Replace(own, `"resourceVersion"`, `"uid":"/../x","resourceVersion"`, 1)},
		"the metadata twice": {key: "/configmaps/default/a", uid: "u", inconsistent: true,
			data: strings.TrimSuffix(own, "}") + `,"metadata":{"name":"a","namespace":"default","uid":"/../x"}}`},
	} {
		names, errs := read(bytes.NewReader(tampered(t, test.key, test.uid, test.data)))
		if len(names) > 0 || len(errs) != 1 {
			t.Errorf("%s: read %q, errors %v", name, names, errs)
			continue
		}
		_, damaged := errors.AsType[*backup.DamagedError](errs[0])
		_, inconsistent := errors.AsType[*backup.InconsistentError](errs[0])
		if damaged == test.inconsistent || inconsistent != test.inconsistent {
			t.Errorf("%s: got error %v", name, errs[0])
		}
	}
	if names, errs := read(bytes.NewReader(tampered(t, "/configmaps/default/a", "u", own))); len(names) != 1 || len(errs) > 0 {
		t.Errorf("an intact object: read %q, errors %v", names, errs)
	}
}

// A head that no server wrote is rejected before anything is allocated or assigned by it.
func TestTamperedHeadsAreRejected(t *testing.T) {
	t.Parallel()
	snapshot := state(t, 1, 10)
	for name, head := range map[string]backup.Head{
		"a plane that climbs": {Plane: "../../etc"},
		"a plane with ESC":    {Plane: "\x1b[2J"},
		"an oldest revision":  {Plane: "p", Oldest: 1 << 61},
	} {
		var out bytes.Buffer
		if err := backup.Write(t.Context(), &out, snapshot, head); err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Open(&out); err == nil || !strings.Contains(err.Error(), "its head is wrong") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}
