package storetest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/robustness"
)

// recorder records the requests and results of a store's clients, for package robustness to check.
type recorder struct {
	clock atomic.Int64

	mu      sync.Mutex
	history robustness.History
}

// recordWrite records a write with its start time and its revision or error.
func (r *recorder) recordWrite(call int64, changes []robustness.Change, revision object.Revision, err error) {
	w := robustness.Write{
		Call: call, Return: r.clock.Add(1), Changes: changes, Outcome: outcomeOf(err), Revision: uint64(revision),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Writes = append(r.history.Writes, w)
}

// outcomeOf returns what a writer knows. A commit that was interrupted, by its context or by Close, may or
// may not be applied.
func outcomeOf(err error) robustness.Outcome {
	var conflict *store.ConflictError
	switch {
	case err == nil:
		return robustness.Acknowledged
	case errors.As(err, &conflict), errors.Is(err, errChaos):
		return robustness.Refused
	}
	return robustness.Unknown
}

// storeChange converts a recorded change to a change of the store.
func storeChange(c robustness.Change) store.Change {
	expect := store.Anything()
	switch {
	case c.Expect == nil:
	case *c.Expect == 0:
		expect = store.Absent()
	default:
		expect = store.At(object.Revision(*c.Expect))
	}
	if c.Deleted {
		return Delete(object.Key(c.Key), expect)
	}
	return Put(object.Key(c.Key), c.Value, expect)
}

func (r *recorder) recordWatch(w robustness.Watch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Watches = append(r.history.Watches, w)
}

// recordList records the contents of a snapshot; latest reports whether the latest state was requested.
func (r *recorder) recordList(where robustness.Where, call int64, latest bool, s *store.Snapshot) {
	l := robustness.List{
		Where: where, Call: call, Latest: latest, Revision: uint64(s.Revision()), Items: map[string]robustness.State{},
	}
	s.Scan(object.Key(where.Prefix), "", func(o *object.Object) bool {
		if matches(where)(o) {
			l.Items[string(o.Key)] = *stateOf(o)
		}
		return true
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Lists = append(r.history.Lists, l)
}

// matches returns a predicate for the objects whose value has the selected prefix.
func matches(where robustness.Where) func(*object.Object) bool {
	return func(o *object.Object) bool { return strings.HasPrefix(Value(o), where.Value) }
}

func stateOf(o *object.Object) *robustness.State {
	if o == nil {
		return nil
	}
	return &robustness.State{Value: Value(o), Revision: uint64(o.Revision)}
}

// seenBy converts events to those that a watch with a selection receives.
func seenBy(where robustness.Where, events []*object.Event) (seen []robustness.Event) {
	for _, e := range events {
		kind, ok := e.TypeFor(matches(where))
		if !ok {
			continue
		}
		shown := e.Object
		if kind == apiwatch.Deleted && !e.Deleted { // it changed and is not selected any more
			shown = e.Previous
		}
		seen = append(seen, robustness.Event{
			Type: string(kind), Key: string(e.Key()), Value: Value(shown), Revision: uint64(e.Revision()),
			Previous: stateOf(e.Previous),
		})
	}
	return seen
}

// checkHistory fails the test and saves the history if it breaks a guarantee. It logs what the history contains.
func (r *recorder) checkHistory(t *testing.T) {
	t.Helper()
	counts := map[robustness.Outcome]int{}
	for _, w := range r.history.Writes {
		counts[w.Outcome]++
	}
	events, bookmarks := 0, 0
	for _, w := range r.history.Watches {
		for _, response := range w.Responses {
			events += len(response.Events)
			bookmarks += min(1, int(response.Bookmark))
		}
	}
	t.Logf("%d writes acknowledged, %d refused, %d of unknown outcome; %d watches with %d events and %d bookmarks; %d lists",
		counts[robustness.Acknowledged], counts[robustness.Refused], counts[robustness.Unknown],
		len(r.history.Watches), events, bookmarks, len(r.history.Lists))
	broken := robustness.Check(r.history)
	if broken == nil && counts[robustness.Acknowledged] > 0 && events > 0 && bookmarks > 0 {
		return
	}
	for _, violation := range broken[:min(10, len(broken))] {
		t.Error(violation)
	}
	path := filepath.Join(t.ArtifactDir(), "history.json")
	if data, err := json.MarshalIndent(r.history, "", " "); err != nil || os.WriteFile(path, data, 0o600) != nil {
		t.Errorf("the history could not be written to %s", path)
	}
	t.Errorf("%d guarantees broken; the history is in %s, which go test -artifacts keeps", len(broken), path)
}
