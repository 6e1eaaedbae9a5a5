package object_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/object"
)

// update returns an event from revision 5 to revision 6.
func update(t *testing.T, form object.Form) (*object.Event, object.Codec) {
	t.Helper()
	cache := object.NewCache(1 << 20)
	before, _ := newObject(t, form, "5", cache)
	after, codec := newObject(t, form, "6", cache)
	before.Revision, after.Revision = 5, 6
	return &object.Event{Object: after, Previous: before}, codec
}

func TestEventTypes(t *testing.T) {
	t.Parallel()
	e, _ := update(t, asJSON)
	yes, no := func(*object.Object) bool { return true }, func(*object.Object) bool { return false }
	only := func(which *object.Object) func(*object.Object) bool {
		return func(o *object.Object) bool { return o == which }
	}
	created := &object.Event{Object: e.Object}
	deleted := &object.Event{Object: e.Object, Previous: e.Previous, Deleted: true}
	for name, test := range map[string]struct {
		event   *object.Event
		matches func(*object.Object) bool
		want    watch.EventType
	}{
		"created":                   {created, yes, watch.Added},
		"created, not matching":     {created, no, ""},
		"updated":                   {e, yes, watch.Modified},
		"updated, comes to match":   {e, only(e.Object), watch.Added},
		"updated, no longer":        {e, only(e.Previous), watch.Deleted},
		"updated, never matching":   {e, no, ""},
		"deleted":                   {deleted, yes, watch.Deleted},
		"deleted, not matching":     {deleted, no, ""},
		"deleted, did match before": {deleted, only(e.Previous), watch.Deleted},
	} {
		if got, seen := test.event.TypeFor(test.matches); got != test.want || seen != (test.want != "") {
			t.Errorf("%s: got type %q, seen %v", name, got, seen)
		}
	}
	for want, event := range map[watch.EventType]*object.Event{watch.Added: created, watch.Modified: e,
		watch.Deleted: deleted} {
		if event.Type() != want || event.Revision() != 6 || event.Key() != key {
			t.Errorf("want %s, got %s of %s at %d", want, event.Type(), event.Key(), event.Revision())
		}
	}
}

// frame parses a frame and returns its type and the object's bytes.
func frame(t *testing.T, form object.Form, data []byte) (string, []byte) {
	t.Helper()
	var event metav1.WatchEvent
	if form.Format == object.JSON {
		if !bytes.HasSuffix(data, []byte("}\n")) || bytes.Count(data, []byte("\n")) != 1 {
			t.Errorf("the frame is not one line: %q", data)
		}
		if err := json.Unmarshal(data, &event); err != nil {
			t.Fatal(err)
		}
		return event.Type, event.Object.Raw
	}
	if size := binary.BigEndian.Uint32(data); int(size) != len(data)-4 {
		t.Errorf("the frame has the length %d, but %d bytes follow", size, len(data)-4)
	}
	if err := event.Unmarshal(data[4:]); err != nil {
		t.Fatal(err)
	}
	return event.Type, event.Object.Raw
}

func TestFramesAreWatchEvents(t *testing.T) {
	t.Parallel()
	for _, first := range []object.Form{asJSON, asProtobuf} {
		for _, form := range []object.Form{asJSON, asProtobuf} {
			e, codec := update(t, first)
			data, err := e.Frame(codec, watch.Modified, form)
			if err != nil {
				t.Fatal(err)
			}
			if kind, raw := frame(t, form, data); kind != "MODIFIED" ||
				!bytes.Equal(raw, bytesOf(t, codec, e.Object, form)) {
				t.Errorf("got a frame of type %s with\n%q", kind, raw)
			}
		}
	}
}

// The frame for a watcher whose selector no longer matches has the previous state at the revision of the
// update.
func TestFrameForUnmatchedObject(t *testing.T) {
	t.Parallel()
	for _, form := range []object.Form{asJSON, asProtobuf} {
		e, codec := update(t, form)
		data, err := e.Frame(codec, watch.Deleted, form)
		if err != nil {
			t.Fatal(err)
		}
		want, err := e.Previous.At(6)
		if err != nil {
			t.Fatal(err)
		}
		if kind, raw := frame(t, form, data); kind != "DELETED" || !bytes.Equal(raw, bytesOf(t, codec, want, form)) {
			t.Errorf("got a frame of type %s with\n%q", kind, raw)
		}
		if shown, err := e.Shown(watch.Deleted); err != nil || shown.Revision != 6 {
			t.Errorf("Shown returned revision %d, %v", shown.Revision, err)
		}
	}
}

// TestWatchersShareFrames requests frames in two forms concurrently. Each form of an event must be encoded at
// most once, and all watchers of a form must receive the same slice.
func TestWatchersShareFrames(t *testing.T) {
	t.Parallel()
	for range 50 {
		e, codec := update(t, asJSON)
		made, begin := make([][]byte, 32), make(chan struct{})
		var group sync.WaitGroup
		for i := range made {
			group.Go(func() {
				form := asJSON
				if i%2 == 1 {
					form = asProtobuf
				}
				<-begin
				made[i], _ = e.Frame(codec, watch.Modified, form)
			})
		}
		close(begin)
		group.Wait()
		for i := range made {
			if &made[i][0] != &made[i%2][0] {
				t.Fatalf("watcher %d got a frame of its own", i)
			}
		}
		if n := codec.(configMaps).encoded.Load(); n != 1 {
			t.Fatalf("the protobuf form was encoded %d times, want once", n)
		}
	}
}

// The next watcher retries to encode a frame that failed.
func TestFailedFrameIsRetried(t *testing.T) {
	t.Parallel()
	e, codec := update(t, asJSON)
	if _, err := e.Frame(failing{codec.(configMaps)}, watch.Modified, asProtobuf); err == nil {
		t.Fatal("Frame returned no error although the codec fails")
	}
	if _, err := e.Frame(codec, watch.Modified, asProtobuf); err != nil {
		t.Errorf("Frame failed again after the codec recovered: %v", err)
	}
}

// failing is a codec whose Encode fails.
type failing struct{ configMaps }

func (failing) Encode(object.Form, runtime.Object) ([]byte, error) {
	return nil, errors.New("injected failure")
}

func TestDroppedFramesAreEncodedAgain(t *testing.T) {
	t.Parallel()
	e, codec := update(t, asJSON)
	first, err := e.Frame(codec, watch.Modified, asJSON)
	if err != nil {
		t.Fatal(err)
	}
	e.DropFrames()
	second, _ := e.Frame(codec, watch.Modified, asJSON)
	third, _ := e.Frame(codec, watch.Modified, asJSON)
	if !bytes.Equal(first, second) || &first[0] == &second[0] || &second[0] == &third[0] {
		t.Error("a frame was retained after the drop, or differs")
	}
}
