package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/backup"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// key returns the key of a test object; keys sort by their numbers.
func key(n int) object.Key {
	return object.KeyOf(schema.GroupResource{Resource: "configmaps"}, "default", fmt.Sprintf("c%06d", n))
}

// state returns a snapshot with the given number and size of objects.
func state(t testing.TB, objects, size int) *store.Snapshot {
	t.Helper()
	s, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for n := range objects {
		put(t, s, n, strings.Repeat("x", size))
	}
	snapshot, err := s.Snapshot(t.Context(), store.Latest())
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

func put(t testing.TB, s *store.Store, n int, value string) {
	t.Helper()
	data := fmt.Appendf(nil,
		`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":"default","uid":"uid",`+
			`"resourceVersion":%q},"value":%q}`, key(n).Name(), object.RevisionPlaceholder, value)
	encoding, err := object.NewEncoding(object.Form{APIVersion: "v1"}, data)
	if err != nil {
		t.Fatal(err)
	}
	o := object.New(object.Header{Key: key(n), UID: "uid", Labels: map[string]string{"n": fmt.Sprint(n)}}, nil,
		encoding)
	if _, err := s.Commit(t.Context(), store.Change{Key: o.Key, Object: o}); err != nil {
		t.Fatal(err)
	}
}

// written returns a backup of a snapshot.
func written(t testing.TB, snapshot *store.Snapshot) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := backup.Write(t.Context(), &out, snapshot, backup.Head{Plane: "p"}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read reads a stream and returns the names of the objects, and the errors.
func read(stream io.Reader) (names []string, errs []error) {
	r, err := backup.Open(stream)
	if err != nil {
		return nil, []error{err}
	}
	for o, err := range r.Objects() {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		names = append(names, o.Key.Name())
	}
	return names, errs
}

func TestBackupRoundTrip(t *testing.T) {
	t.Parallel()
	snapshot := state(t, 300, 1000)
	head := backup.Head{
		Plane: "p", Oldest: 7, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Program: "v1",
		Damaged: []object.Key{"/a/b/c"},
	}
	var out bytes.Buffer
	if err := backup.Write(t.Context(), &out, snapshot, head); err != nil {
		t.Fatal(err)
	}
	r, err := backup.Open(iotest.HalfReader(&out))
	if err != nil {
		t.Fatal(err)
	}
	head.Revision, head.Objects = snapshot.Revision(), 300
	if got := r.Head(); !reflect.DeepEqual(got, head) {
		t.Errorf("got head %+v, want %+v", got, head)
	}
	n := 0
	for o, err := range r.Objects() {
		if err != nil {
			t.Fatal(err)
		}
		was := snapshot.Get(key(n))
		if o.Key != was.Key || o.Revision != was.Revision || !reflect.DeepEqual(o.Header, was.Header) ||
			!bytes.Equal(o.Stored().Bytes(), was.Stored().Bytes()) {
			t.Fatalf("%s reads as %s", was.Stored().Bytes(), o.Stored().Bytes())
		}
		n++
	}
	if n != 300 {
		t.Errorf("read %d objects", n)
	}
}

func TestEmptyBackup(t *testing.T) {
	t.Parallel()
	if names, errs := read(bytes.NewReader(written(t, state(t, 0, 0)))); len(names)+len(errs) > 0 {
		t.Errorf("an empty backup yielded %v and errors %v", names, errs)
	}
}

func TestTruncatedBackupIsDetected(t *testing.T) {
	t.Parallel()
	whole := written(t, state(t, 3, 10))
	for length := range whole {
		names, errs := read(bytes.NewReader(whole[:length]))
		var cut *backup.CutError
		if len(errs) != 1 || !errors.As(errs[0], &cut) && !(length == 0 && errors.Is(errs[0], backup.ErrForeign)) {
			t.Fatalf("cut to %d of %d bytes: %v", length, len(whole), errs)
		}
		if cut != nil && cut.Read != len(names) {
			t.Fatalf("cut to %d bytes %d objects were read, and not %v", length, len(names), errs)
		}
	}
}

func TestFlippedBitsAreDetected(t *testing.T) {
	t.Parallel()
	const objects = 4
	whole := written(t, state(t, objects, 10))
	for at := range whole {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1 << (at % 8)
		names, errs := read(bytes.NewReader(damaged))
		if len(errs) == 0 {
			t.Fatalf("with byte %d flipped, no damage was reported", at)
		}
		var damage *backup.DamagedError
		if errors.As(errs[0], &damage) && len(names) < objects-1 {
			t.Fatalf("with byte %d flipped, only %v were read: %v", at, names, errs)
		}
	}
}

func TestDamagedObjectIsReported(t *testing.T) {
	t.Parallel()
	whole := written(t, state(t, 10, 100))
	for what, test := range map[string]struct{ find, want string }{
		"in its data": {`"c000004"`, "/configmaps/default/c000004, at byte "},
		"in its key":  {`/configmaps/default/c000004`, "the object after /configmaps/default/c000003, at byte "},
	} {
		damaged := bytes.Clone(whole)
		damaged[bytes.Index(damaged, []byte(test.find))+1] ^= 1
		names, errs := read(bytes.NewReader(damaged))
		if len(names) != 9 || len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), test.want) {
			t.Errorf("%s: read %v, %v", what, names, errs)
		}
	}
}

func TestForeignStreamsAreRejected(t *testing.T) {
	t.Parallel()
	whole := written(t, state(t, 2, 10))
	for what, test := range map[string]struct {
		stream []byte
		want   string
	}{
		"nothing":  {nil, "not a backup of bowline"},
		"text":     {[]byte("apiVersion: v1\nkind: ConfigMap\n"), "not a backup of bowline"},
		"one line": {[]byte("bowling backups"), "not a backup of bowline"},
		"zeros":    {make([]byte, 100), "not a backup of bowline"},
		"a newer version": {bytes.Replace(whole, []byte("backup 1\n"), []byte("backup 2\n"), 1),
			"has version 2, but this bowline reads up to 1"},
		"something after it":  {append(bytes.Clone(whole), 'x'), "data after its end"},
		"two of them":         {append(bytes.Clone(whole), whole...), "data after its end"},
		"only its first line": {[]byte("bowline backup 1\n"), "cut short: it ends within its head"},
	} {
		if _, errs := read(bytes.NewReader(test.stream)); len(errs) != 1 ||
			!strings.Contains(errs[0].Error(), test.want) {
			t.Errorf("%s: %v", what, errs)
		}
	}
}

func TestReaderReturnsStreamErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("the cable is out")
	stream := io.MultiReader(bytes.NewReader(written(t, state(t, 5, 10))[:1000]), iotest.ErrReader(broken))
	if _, errs := read(stream); len(errs) != 1 || !errors.Is(errs[0], broken) {
		t.Errorf("read: %v", errs)
	}
}

func TestWriteEndsWithContextAndWriter(t *testing.T) {
	t.Parallel()
	snapshot := state(t, 5, 10)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := backup.Write(ctx, io.Discard, snapshot, backup.Head{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
	full := errors.New("no room")
	r, w := io.Pipe()
	r.CloseWithError(full)
	if err := backup.Write(t.Context(), w, snapshot, backup.Head{}); !errors.Is(err, full) {
		t.Errorf("with a writer that fails: %v", err)
	}
}

// FuzzRead checks that a reader never panics, and yields either an object or an error, with objects in key
// order.
func FuzzRead(f *testing.F) {
	whole := written(f, state(f, 3, 30))
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("bowline backup 1\n\xb0\xe1\x1e\x0ah\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r, err := backup.Open(bytes.NewReader(stream))
		if err != nil {
			return
		}
		last := object.Key("")
		for o, err := range r.Objects() {
			_, inconsistent := errors.AsType[*backup.InconsistentError](err)
			if (o == nil) == (err == nil) && !inconsistent {
				t.Fatalf("yielded %v, %v", o, err)
			}
			if o != nil && o.Key <= last {
				t.Fatalf("%s came after %s", o.Key, last)
			}
			if o != nil {
				last = o.Key
			}
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	snapshot := state(b, 10_000, 1024)
	b.SetBytes(int64(len(written(b, snapshot))))
	for b.Loop() {
		if err := backup.Write(b.Context(), io.Discard, snapshot, backup.Head{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	stream := written(b, state(b, 10_000, 1024))
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		if names, errs := read(bytes.NewReader(stream)); len(names) != 10_000 || errs != nil {
			b.Fatal(errs)
		}
	}
}

func TestStoreContinuesFromBackup(t *testing.T) {
	t.Parallel()
	whole := written(t, state(t, 5, 10))
	damaged := bytes.Clone(whole)
	damaged[bytes.Index(damaged, []byte(`"c000002"`))+1] ^= 1
	damaged[bytes.Index(damaged, []byte(`/configmaps/default/c000003`))+1] ^= 1
	for _, test := range []struct {
		stream                     []byte
		objects, damaged, nameless int
	}{{whole, 5, 0, 0}, {damaged, 3, 1, 1}} {
		r, err := backup.Open(bytes.NewReader(test.stream))
		if err != nil {
			t.Fatal(err)
		}
		l := r.Log()
		s, err := store.New(t.Context(), l, store.Options{AcceptDamage: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		snapshot, err := s.Snapshot(t.Context(), store.Latest())
		if err != nil || snapshot.Size() != test.objects || len(s.Damaged()) != test.damaged ||
			len(l.Nameless) != test.nameless {
			t.Errorf("there are %d objects, %v are damaged, and %v, %v", snapshot.Size(), s.Damaged(), l.Nameless, err)
		}
		var compacted *store.CompactedError
		if _, err := s.Watch("/configmaps/", r.Head().Revision+1); !errors.As(err, &compacted) {
			t.Errorf("a watch at a revision that was assigned after the backup returned %v", err)
		}
		put(t, s, 7, "more")
	}
}
