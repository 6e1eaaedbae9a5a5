package informer

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
)

// silentSource is a source that never answers. The test itself fills the FIFO.
type silentSource struct{ client.Source }

func (silentSource) List(ctx context.Context, _ schema.GroupVersionResource, _ client.Options) (client.List, error) {
	<-ctx.Done()
	return client.List{}, ctx.Err()
}

// manualInformer is an informer whose FIFO the test fills. Revisions 13 and 113 of an object cannot be decoded, and
// object "b" is decoded as "other".
type manualInformer struct{ *Informer[*corev1.Pod] }

func newManualInformer(lazy bool) manualInformer {
	return manualInformer{New[*corev1.Pod](silentSource{}, schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		Options[*corev1.Pod]{
			Lazy: lazy, Log: quietly(),
			Decode: func(_ object.Codec, o *object.Object) (*corev1.Pod, error) {
				if o.Revision%100 == 13 {
					return nil, errors.New("unlucky")
				}
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: o.Key.Name(), UID: o.UID,
					ResourceVersion: o.Revision.String()}}
				if pod.Name == "b" {
					pod.Name = "other"
				}
				return pod, nil
			}})}
}

// state is an undecoded state of an object.
func (h manualInformer) state(name string, uid types.UID, at object.Revision) *state[*corev1.Pod] {
	key := object.KeyOf(schema.GroupResource{Resource: "pods"}, "", name)
	o := object.New(object.Header{Key: key, UID: uid}, nil, object.Encoding{})
	o.Revision = at
	return h.reader.state(nil, o)
}

// event enqueues an event of a watch.
func (h manualInformer) event(t deltaType, name string, uid types.UID, at object.Revision) {
	h.fifo.add([]delta[*corev1.Pod]{{Type: t, state: h.state(name, uid, at)}}, at)
}

// pop applies the enqueued changes to the cache.
func (h manualInformer) pop() { h.fifo.pop(h.process) }

func TestDeletedObjectWithPendingChangeIsDecodedOnce(t *testing.T) {
	t.Parallel()
	h := newManualInformer(false)
	h.event(deltaAdded, "a", "1", 10)
	h.fifo.replace(nil, true, 20)
	h.pop()
	if h.indexer.Len() != 0 || h.Unreadable() != 0 {
		t.Errorf("got %d cached objects, %d not decoded", h.indexer.Len(), h.Unreadable())
	}
	h.event(deltaAdded, "a", "1", 13)
	h.fifo.replace(nil, true, 30)
	h.pop()
	if h.indexer.Len() != 0 || h.Unreadable() != 1 {
		t.Errorf("got %d cached objects, %d not decoded", h.indexer.Len(), h.Unreadable())
	}
}

// happening is a sequence of changes, and the state of object a in the cache afterwards.
type happening struct {
	happens func(h manualInformer)
	want    string
}

// restorations begin with object a at revision 100 in the cache, value old.
var restorations = map[string]happening{
	"the same revision again": {func(h manualInformer) {
		h.list(95, h.state("a", "old", 100))
		h.pop()
	}, "old@100 restored"},
	"and once more": {func(h manualInformer) {
		h.list(95, h.state("a", "old", 90))
		h.event(deltaUpdated, "a", "old", 100)
		h.pop()
	}, "old@100 restored"},
	"lower, and changed since": {func(h manualInformer) {
		h.list(50, h.state("a", "old", 40))
		h.event(deltaUpdated, "a", "old", 60)
		h.pop()
	}, "old@60 restored"},
	"gone, and created since": {func(h manualInformer) {
		h.list(50)
		h.event(deltaAdded, "a", "new", 60)
		h.pop()
	}, "new@60 restored"},
	"lower, and before that it was created": {func(h manualInformer) {
		h.event(deltaAdded, "a", "new", 120)
		h.list(50, h.state("a", "old", 40))
		h.pop()
	}, "old@40 restored"},
	"not restored: what was seen is not told again": {func(h manualInformer) {
		h.list(105, h.state("a", "old", 100))
		h.pop()
	}, "old@100"},
}

// A list with an older revision than the known one is of another history, in which revisions may be used again.
func TestListOfRestoredServerReplacesCache(t *testing.T) {
	t.Parallel()
	for name, test := range restorations {

		h := newManualInformer(false)
		first := h.state("a", "old", 100)
		h.list(100, first)
		h.pop()
		test.happens(h)
		got := ""
		for _, s := range h.indexer.snapshot() {
			got = fmt.Sprintf("%s@%d", s.uid(), s.revision)
			if s != first {
				got += " restored"
			}
		}
		if got != test.want {
			t.Errorf("%s: got %q in the cache, want %q", name, got, test.want)
		}
	}
}

// list enqueues the result of a list.
func (h manualInformer) list(at object.Revision, states ...*state[*corev1.Pod]) {
	h.fifo.replace(states, true, at)
}

func TestObjectDecodedAsAnotherIsAnError(t *testing.T) {
	t.Parallel()
	for _, lazy := range []bool{false, true} {
		h := newManualInformer(lazy)
		h.list(100, h.state("b", "1", 100), h.state("c", "2", 100))
		h.pop()
		if list := h.indexer.List(); len(list) != 1 || list[0].Name != "c" || h.Unreadable() != 1 {
			t.Errorf("lazy %t: got %v in the cache, %d not decoded", lazy, list, h.Unreadable())
		}
		h.event(deltaDeleted, "b", "1", 110)
		h.pop()
		if lazy && h.indexer.Len() != 1 {
			t.Errorf("got %d cached objects", h.indexer.Len())
		}
	}
}

// A revision that cannot be decoded counts as reached: the cache will never have it, and its writer must continue.
func TestWaitForRevisionIncludesUndecodableRevisions(t *testing.T) {
	t.Parallel()
	h := newManualInformer(false)
	a := Key{Name: "a"}
	reached := func(revision object.Revision) bool { reached, _ := h.hasReached(a, revision); return reached }
	h.event(deltaAdded, "a", "1", 12)
	h.pop()
	h.event(deltaUpdated, "a", "1", 13)
	h.event(deltaAdded, "c", "2", 20)
	h.pop()
	if !reached(13) || reached(14) {
		t.Errorf("object at revision 13, not decoded: 13 is reached: %t, 14: %t; want true, false", reached(13),
			reached(14))
	}
	h.fifo.resync()
	h.pop()
	if !reached(13) {
		t.Error("after a resync, the revision is not reached any more")
	}
	h.event(deltaUpdated, "a", "1", 21)
	h.pop()
	if !reached(21) || reached(22) || len(h.updater.progress.skipped) != 0 {
		t.Errorf("object at revision 21: 21 is reached: %t, 22: %t; skipped revisions: %v", reached(21), reached(22),
			h.updater.progress.skipped)
	}
	h.event(deltaUpdated, "a", "1", 13)
	h.list(30)
	h.pop()
	if len(h.updater.progress.skipped) != 0 {
		t.Errorf("got skipped revisions %v of deleted objects, want none", h.updater.progress.skipped)
	}
}

// misreadings begin with object a of uid 1 at revision 13, which cannot be decoded.
var misreadings = map[string]happening{
	"it is deleted": {func(h manualInformer) { h.event(deltaDeleted, "a", "1", 20) }, "gone"},
	"deleted with a state that cannot be decoded": {func(h manualInformer) {
		h.event(deltaDeleted, "a", "1", 13)
	}, "gone"},
	"the deletion of an older one comes late": {func(h manualInformer) {
		h.event(deltaDeleted, "a", "0", 12)
	}, "unreadable 1"},
	"it can be read again": {func(h manualInformer) { h.event(deltaUpdated, "a", "1", 14) }, "14"},
	"deleted, and replaced by one that cannot be decoded": {func(h manualInformer) {
		h.event(deltaDeleted, "a", "1", 20)
		h.event(deltaAdded, "a", "2", 113)
	}, "unreadable 2"},
	"a list lacks it":                   {func(h manualInformer) { h.list(20) }, "gone"},
	"a list that is not whole lacks it": {func(h manualInformer) { h.fifo.replace(nil, false, 20) }, "unreadable 1"},
	"a list has it as it was":           {func(h manualInformer) { h.list(20, h.state("a", "1", 13)) }, "unreadable 1"},
	"it changes, and a list lacks it": {func(h manualInformer) {
		h.event(deltaUpdated, "a", "1", 13)
		h.list(20)
	}, "gone"},
	"one that could be read is gone unseen, and another has its name": {func(h manualInformer) {
		h.event(deltaUpdated, "a", "1", 14)
		h.pop()
		h.list(213, h.state("a", "2", 213))
	}, "unreadable 2"},
	"another that could not be read either comes late": {func(h manualInformer) {
		h.list(213, h.state("a", "2", 213))
		h.pop()
		h.event(deltaUpdated, "a", "1", 113)
	}, "unreadable 2"},
	"it can be read, and cannot before anybody looks": {func(h manualInformer) {
		h.event(deltaUpdated, "a", "1", 14)
		h.pop()
		h.event(deltaUpdated, "a", "1", 113)
	}, "14"},
}

// The cache records an undecodable object until it is deleted or decoded, unless an older state is cached.
func TestUndecodableObjectsAreTrackedWhileStored(t *testing.T) {
	t.Parallel()
	for name, test := range misreadings {

		h := newManualInformer(false)
		h.list(13, h.state("a", "1", 13))
		h.pop()
		test.happens(h)
		h.pop()
		got := "gone"
		var unreadable *UnreadableError
		obj, err := h.indexer.Find(Key{Name: "a"})
		switch {
		case errors.As(err, &unreadable):
			got = "unreadable " + string(unreadable.UID)
		case err == nil:
			got = obj.ResourceVersion
		}
		if got != test.want || (unreadable != nil) != (len(h.indexer.unreadable) == 1) {
			t.Errorf("%s: got %s, want %s; %d objects are recorded as unreadable", name, got, test.want,
				len(h.indexer.unreadable))
		}
	}
}
