package read

import (
	"context"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/tasks"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// testFeed is a feed of config maps of a store of its own, without a request.
type testFeed struct {
	*Feed
	store *store.Store
	tasks *tasks.Group
	tick  chan time.Time
	ended chan struct{}
}

func newTestFeed(t *testing.T) *testFeed {
	t.Helper()
	s, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &testFeed{store: s, tasks: tasks.New(t.Context()), tick: make(chan time.Time), ended: make(chan struct{})}
	f.Feed = &Feed{reader: New(Options{Store: s, Tasks: f.tasks}), selected: &selection{prefix: "/configmaps/"},
		after: s.Current(),
		ended: f.ended, stopped: make(chan struct{})}
	if err := f.Follow(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Stop()
		s.Close()
	})
	return f
}

// commit creates objects, each in a commit of its own.
func (f *testFeed) commit(t *testing.T, prefix string, count int) {
	t.Helper()
	for i := range count {
		key := object.Key(fmt.Sprintf("/configmaps/n/%s-%d", prefix, i))
		e, err := object.NewEncoding(object.Form{},
			fmt.Appendf(nil, `{"metadata":{"resourceVersion":"%s"}}`, object.RevisionPlaceholder))
		if err != nil {
			t.Fatal(err)
		}
		change := store.Change{Key: key, Object: object.New(object.Header{Key: key}, nil, e)}
		if _, err := f.store.Commit(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
}

// want fails unless Next returns a number of events and an error.
func (f *testFeed) want(t *testing.T, ctx context.Context, count int, want error) {
	t.Helper()
	if events, err := f.Next(ctx, f.tick); len(events) != count || err != want {
		t.Fatalf("Next returned %d events and %v, want %d and %v", len(events), err, count, want)
	}
}

func TestNextReturnsBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newTestFeed(t)
		f.commit(t, "a", 2*batch+3)
		for _, count := range []int{batch, batch, 3} {
			f.want(t, t.Context(), count, nil)
		}
		if at := f.Revision(); at != f.store.Current() {
			t.Errorf("the revision is %d, want %d", at, f.store.Current())
		}
		go func() {
			time.Sleep(time.Second)
			f.commit(t, "b", 1)
		}()
		f.want(t, t.Context(), 1, nil)
	})
}

func TestNextReturnsReadyChangesBeforeTheTick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newTestFeed(t)
		go func() { f.tick <- time.Now() }()
		f.want(t, t.Context(), 0, nil)
		// With a ready change and a ready tick, the wait may end by either.
		f.tick = make(chan time.Time, 1)
		f.tick <- time.Now()
		f.commit(t, "a", 1)
		f.want(t, t.Context(), 1, nil)
		f.want(t, t.Context(), 0, nil)
		if at := f.Revision(); at != f.store.Current() {
			t.Errorf("the revision is %d, want %d", at, f.store.Current())
		}
	})
}

func TestNextReturnsEOF(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(f *testFeed, cancel func()){
		"kind":   func(f *testFeed, _ func()) { close(f.ended) },
		"server": func(f *testFeed, _ func()) { f.tasks.Cancel() },
		"client": func(_ *testFeed, cancel func()) { cancel() },
		"stop":   func(f *testFeed, _ func()) { close(f.stopped) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newTestFeed(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				f.commit(t, "a", 3)
				f.want(t, ctx, 3, nil)
				go func() {
					time.Sleep(time.Second)
					end(f, cancel)
				}()
				f.want(t, ctx, 0, io.EOF)
			})
		})
	}
}

// TestNextReturnsAllChangesOfARemovedKind removes the kind while changes are ready that take several batches.
func TestNextReturnsAllChangesOfARemovedKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newTestFeed(t)
		f.commit(t, "a", 2*batch+1)
		close(f.ended)
		for _, count := range []int{batch, batch, 1} {
			f.want(t, t.Context(), count, nil)
		}
		f.want(t, t.Context(), 0, io.EOF)
	})
}
