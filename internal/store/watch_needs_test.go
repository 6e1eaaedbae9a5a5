package store_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// writer is a codec that only provides a stamp.
type writer struct {
	object.Codec
	stamp object.Stamp
}

func (w writer) Stamp() object.Stamp { return w.stamp }

// shown returns a change to an object with labels and fields.
func shown(t testing.TB, key object.Key, labels, fields map[string]string) store.Change {
	t.Helper()
	return written(t, nil, key, labels, fields)
}

func written(t testing.TB, by object.Codec, key object.Key, labels, fields map[string]string) store.Change {
	t.Helper()
	data := fmt.Appendf(nil, `{"metadata":{"name":%q,"resourceVersion":"%s"}}`, key.Name(), object.RevisionPlaceholder)
	e, err := object.NewEncoding(object.Form{}, data)
	if err != nil {
		t.Fatal(err)
	}
	return store.Change{Key: key, Object: object.New(object.Header{Key: key, Labels: labels, Fields: fields}, by, e)}
}

// need is a requirement and the equivalent predicate.
type need struct {
	store.Requirement
	met func(*object.Object) bool
}

func label(key string, values ...string) need {
	return need{store.HasLabel(key, values...), func(o *object.Object) bool {
		value, has := o.Labels[key]
		return has && (len(values) == 0 || slices.Contains(values, value))
	}}
}

// of returns a need of a watcher that sees the label a=1 and the field phase=on in all objects of other
// writers.
func (n need) of(stamp object.Stamp) need {
	by := object.Writer{Stamp: stamp}
	return need{n.Requirement.Of(by), func(o *object.Object) bool {
		if o.Writer() != by {
			o = &object.Object{Header: object.Header{Labels: map[string]string{"a": "1"},
				Fields: map[string]string{"phase": "on"}}}
		}
		return n.met(o)
	}}
}

func field(name, value string) need {
	return need{store.HasField(name, value), func(o *object.Object) bool { return o.Field(name) == value }}
}

// watcher is a watcher with a selection, and the events that it has received.
type watcher struct {
	watch  *store.Watch
	prefix object.Key
	needs  []need
	after  object.Revision
	seen   []string
}

func (r *watcher) selects(o *object.Object) bool {
	for _, n := range r.needs {
		if !n.met(o) {
			return false
		}
	}
	return true
}

// format formats an event as the watcher receives it, with the type from TypeFor; "" if the selection excludes
// it.
func (r *watcher) format(e *object.Event) string {
	kind, ok := e.TypeFor(r.selects)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s %s@%d", kind, e.Key(), e.Revision())
}

// allNeeds returns the needs that watchers may have, single and combined.
func allNeeds() [][]need {
	var many []string
	for i := range 70 {
		many = append(many, fmt.Sprint(i%5))
	}
	return [][]need{
		{label("a", "1")}, {label("a", "2")}, {label("a")}, {label("b", "1", "2")}, {label("b", "2", "1", "2")},
		{label("b", many...)},
		{field("phase", "on")}, {field("phase", "")}, {field("metadata.name", "3")},
		{field("metadata.namespace", "n1")},
		{label("a", "1").of(1)}, {label("a", "1").of(2)}, {label("a", "2").of(1)},
		{field("phase", "on").of(2), label("a").of(2)},
		{label("a", "1"), label("b", "1")}, {label("a"), field("phase", "on"), label("b", "0", "1")}, {},
	}
}

// TestSelectiveWatchersMissNoEvent starts, advances and stops watchers with every kind of need at
// random during random commits, on a history that is too short for some. Filtering what a watcher receives
// must yield the same events in the same order as filtering all events, or ErrSlow if one of them was
// dropped.
func TestSelectiveWatchersMissNoEvent(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			s, err := store.New(t.Context(), memory.New(), store.Options{HistoryBytes: 60_000})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			run := &needsRun{t: t, random: random, store: s}
			if run.all, err = s.Watch("/maps/", s.Current()); err != nil {
				t.Fatal(err)
			}
			for range 1500 {
				run.step()
			}
			if run.received == 0 || run.slow == 0 {
				t.Errorf("watchers got %d events, and %d were slow: the test is inconclusive", run.received, run.slow)
			}
		})
	}
}

type needsRun struct {
	t              *testing.T
	random         *rand.Rand
	store          *store.Store
	all            *store.Watch // receives every event immediately
	events         []*object.Event
	watchers       []*watcher
	received, slow int
}

func (r *needsRun) step() {
	switch n := r.random.IntN(20); {
	case n < 12:
		r.commit()
	case n < 14:
		r.begin()
	case len(r.watchers) > 0 && n < 19:
		r.take(r.random.IntN(len(r.watchers)))
	case len(r.watchers) > 0 && r.random.IntN(4) == 0:
		r.end(r.random.IntN(len(r.watchers)))
	}
}

// commit changes some objects in one commit.
func (r *needsRun) commit() {
	changes := map[object.Key]store.Change{}
	for range 1 + r.random.IntN(3) {
		key := object.Key(fmt.Sprintf("/maps/n%d/%d", r.random.IntN(3), r.random.IntN(6)))
		changes[key] = store.Change{Key: key}
		if r.random.IntN(4) > 0 {
			labels, fields := map[string]string{}, map[string]string{}
			for _, name := range []string{"a", "b", "c"} {
				if r.random.IntN(2) == 0 {
					labels[name] = fmt.Sprint(r.random.IntN(4))
				}
			}
			if r.random.IntN(2) == 0 {
				fields["phase"] = []string{"on", "off"}[r.random.IntN(2)]
			}
			changes[key] = written(r.t, writer{stamp: object.Stamp(1 + r.random.IntN(2))}, key, labels, fields)
		}
	}
	if _, err := r.store.Commit(r.t.Context(), slices.Collect(maps.Values(changes))...); err != nil {
		r.t.Fatal(err)
	}
	events, err := r.all.Take(100)
	if err != nil {
		r.t.Fatal(err)
	}
	r.events = append(r.events, events...)
}

// begin starts a watch at a random revision of the history.
func (r *needsRun) begin() {
	oldest, current := r.store.Oldest(), r.store.Current()
	n := &watcher{
		prefix: []object.Key{"/maps/", "/maps/n0/", "/maps/n1/3"}[r.random.IntN(3)],
		needs:  allNeeds()[r.random.IntN(len(allNeeds()))],
		after:  current - object.Revision(r.random.IntN(int(current-oldest)+1)),
	}
	var needs []store.Requirement
	for _, need := range n.needs {
		needs = append(needs, need.Requirement)
	}
	var err error
	if n.watch, err = r.store.Watch(n.prefix, n.after, needs...); err != nil {
		r.t.Fatal(err)
	}
	r.watchers = append(r.watchers, n)
}

// take delivers events to a watcher and compares everything that it has received with the expectation.
func (r *needsRun) take(i int) {
	n := r.watchers[i]
	events, err := n.watch.Take(1 + r.random.IntN(30))
	if err != nil {
		if !errors.Is(err, store.ErrSlow) || n.watch.Revision() >= r.store.Oldest() {
			r.t.Errorf("take at revision %d, the oldest being %d: %v", n.watch.Revision(), r.store.Oldest(), err)
		}
		r.slow++
		r.end(i)
		return
	}
	for _, e := range events {
		if text := n.format(e); text != "" {
			n.seen = append(n.seen, text)
			r.received++
		}
	}
	if want := r.want(n); !slices.Equal(n.seen, want) {
		r.t.Fatalf("the watcher of %s after %d with needs %v got, at revision %d,\n%v\nwant\n%v", n.prefix, n.after,
			n.needs,
			n.watch.Revision(), n.seen, want)
	}
}

// want returns the events that a watcher must have received by now.
func (r *needsRun) want(n *watcher) (want []string) {
	for _, e := range r.events {
		if e.Revision() > n.after && e.Revision() <= n.watch.Revision() &&
			strings.HasPrefix(string(e.Key()), string(n.prefix)) {
			if text := n.format(e); text != "" {
				want = append(want, text)
			}
		}
	}
	return want
}

func (r *needsRun) end(i int) {
	r.watchers[i].watch.Stop()
	r.watchers = slices.Delete(r.watchers, i, i+1)
}
