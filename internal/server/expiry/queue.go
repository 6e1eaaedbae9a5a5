package expiry

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// minDelay is the minimum time between two runs of a queue, so that objects which were written together are deleted
// together.
const minDelay = time.Second

// queue expires the objects of one kind.
type queue struct {
	Options
	resource schema.GroupResource
	lifetime time.Duration

	mu sync.Mutex
	// entries are the writes of the last lifetime, in order.
	entries []entry
	// timer calls run; it is nil if there are no entries.
	timer *time.Timer
}

// entry identifies a state of an object, which is deleted at a time if it is still in that state.
type entry struct {
	key object.Key // empty for all objects that were last written at the revision or before
	// revision is 0 if it is unknown whether the object was written.
	revision object.Revision
	due      time.Time
}

// add schedules the expiry of a state.
func (q *queue) add(key object.Key, revision object.Revision) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.entries = append(q.entries, entry{key, revision, time.Now().Add(q.lifetime)})
	if q.timer == nil {
		q.setTimer()
	}
}

// setTimer sets the timer for the first entry, unless the server closes; the caller holds mu.
func (q *queue) setTimer() {
	q.timer = nil
	if len(q.entries) > 0 && q.Tasks.Context().Err() == nil {
		q.timer = time.AfterFunc(max(time.Until(q.entries[0].due), minDelay), q.run)
	}
}

func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.timer != nil {
		q.timer.Stop()
	}
}

// run deletes the objects whose entries are due, and sets the timer again.
func (q *queue) run() {
	name := "expiry of " + q.resource.String()
	if !q.Tasks.Begin(name) {
		return
	}
	defer q.Tasks.Done(name)
	q.mu.Lock()
	now, n := time.Now(), 0
	for n < len(q.entries) && !q.entries[n].due.After(now) {
		n++
	}
	due := q.entries[:n:n]
	q.entries = q.entries[n:]
	q.mu.Unlock()

	ctx := q.Tasks.Context()
	for _, e := range due {
		if e.key != "" {
			q.delete(q.Store.Get(e.key), e.revision)
			continue
		}
		snapshot, err := q.Store.Snapshot(ctx, store.Latest())
		if err != nil {
			q.Log.Error("expired objects cannot be deleted; trying again after their lifetime", "resource", q.resource,
				"error", err)
			q.add("", e.revision)
			continue
		}
		snapshot.Scan(object.Prefix(q.resource, ""), "", func(o *object.Object) bool {
			if o.Revision <= e.revision {
				q.delete(o, o.Revision)
			}
			return ctx.Err() == nil
		})
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.setTimer()
}

// delete deletes an object if it still has the revision of its entry. If it was unknown whether the object was
// written, its lifetime starts now. If the deletion fails, it is retried after another lifetime.
func (q *queue) delete(o *object.Object, revision object.Revision) {
	switch {
	case o == nil:
		return
	case revision == 0:
		q.add(o.Key, o.Revision)
		return
	case o.Revision != revision:
		return
	}
	ctx := q.Tasks.Context()
	_, err := q.Store.Commit(ctx, store.Change{Key: o.Key, Expect: store.At(revision)})
	if err == nil || store.IsConflict(err) || ctx.Err() != nil {
		return
	}
	q.Log.Error("an expired object cannot be deleted; trying again after its lifetime", "object", o.Key.Name(),
		"error", err)
	q.add(o.Key, revision)
}
