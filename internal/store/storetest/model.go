package storetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/seed"
	"github.com/bowline-dev/bowline/internal/store"
)

// randomOperationsMatchModel runs random operations on a store and on maps, and compares the results.
func randomOperationsMatchModel(t *testing.T, start func(store.Options) *store.Store) {
	m := &model{
		t: t, store: start(store.Options{HistoryBytes: 200_000}), random: rand.New(rand.NewPCG(seed.Of(t), 0)),
		states: map[object.Revision]map[object.Key]keyState{},
	}
	m.states[m.store.Current()] = map[object.Key]keyState{}
	for range 3000 {
		m.step()
		if t.Failed() {
			return
		}
	}
}

// keyState is the state of a key in the model.
type keyState struct {
	value    string
	revision object.Revision
}

// model holds every state since the start, by revision.
type model struct {
	t        *testing.T
	store    *store.Store
	random   *rand.Rand
	states   map[object.Revision]map[object.Key]keyState
	watchers []*follower
}

// follower is a watch and the state accumulated from its events.
type follower struct {
	watch  *store.Watch
	prefix object.Key
	state  map[object.Key]keyState
}

func (m *model) step() {
	switch n := m.random.IntN(20); {
	case n < 12:
		m.commit()
	case n < 14:
		m.snapshot()
	case n < 15:
		m.watch()
	case len(m.watchers) > 0:
		m.take(m.random.IntN(len(m.watchers)))
	}
}

func (m *model) key() object.Key {
	resource := configMaps
	if m.random.IntN(4) == 0 {
		resource = networks
	}
	return object.KeyOf(resource, fmt.Sprint("ns", m.random.IntN(3)), fmt.Sprint("name", m.random.IntN(12)))
}

func (m *model) prefix() object.Key {
	key := m.key()
	switch m.random.IntN(3) {
	case 0:
		return object.Prefix(key.GroupResource(), "")
	case 1:
		return object.Prefix(key.GroupResource(), key.Namespace())
	}
	return key
}

// commit makes one to three changes and computes the expected result first.
func (m *model) commit() {
	before := m.states[m.store.Current()]
	after, revision := maps.Clone(before), m.store.Current()
	var changes []store.Change
	fails := false
	for range 1 + m.random.IntN(3) {
		key := m.key()
		if slices.ContainsFunc(changes, func(c store.Change) bool { return c.Key == key }) {
			continue
		}
		c := m.change(key, before[key].revision)
		found, exists := before[key]
		changes = append(changes, c)
		fails = fails || !holds(c.Expect, found)
		if c.Unchanged || c.Object == nil && !exists {
			continue
		}
		revision = m.store.Current() + 1
		delete(after, key)
		if c.Object != nil {
			after[key] = keyState{Value(c.Object), revision}
		}
	}
	m.check(fails, after, revision, changes)
}

// change returns a random change of a key that was last changed at a revision, 0 if it is absent.
func (m *model) change(key object.Key, revision object.Revision) store.Change {
	expect := store.Anything()
	switch m.random.IntN(5) {
	case 0:
		expect = store.Absent()
	case 1:
		expect = store.At(revision)
	}
	switch m.random.IntN(6) {
	case 0, 1:
		return Delete(key, expect)
	case 2:
		return store.Change{Key: key, Expect: expect, Unchanged: true}
	}
	return Put(key, strings.Repeat("x", m.random.IntN(300)), expect)
}

func holds(e store.Expect, found keyState) bool {
	return e == store.Anything() || e == store.Absent() && found.revision == 0 || e == store.At(found.revision) &&
		found.revision != 0
}

// check commits and compares the result with the expected one.
func (m *model) check(fails bool, after map[object.Key]keyState, revision object.Revision, changes []store.Change) {
	before := m.store.Current()
	got, err := m.store.Commit(m.t.Context(), changes...)
	var conflict *store.ConflictError
	if fails {
		if !errors.As(err, &conflict) || m.store.Current() != before {
			m.t.Errorf("got %v at revision %d, want a conflict at %d", err, m.store.Current(), before)
		}
		return
	}
	if err != nil || got != revision || m.store.Current() != revision {
		m.t.Errorf("Commit returned %d, %v, want %d", got, err, revision)
	}
	m.states[revision] = after
	for _, c := range changes {
		if want := after[c.Key]; Value(m.store.Get(c.Key)) != want.value {
			m.t.Errorf("%s is %q, want %q", c.Key, Value(m.store.Get(c.Key)), want.value)
		}
	}
}

// snapshot compares a past state.
func (m *model) snapshot() {
	revision := m.store.Current() - object.Revision(m.random.IntN(len(m.states)))
	got, err := m.store.Snapshot(m.t.Context(), store.Exactly(revision))
	if revision < m.store.Oldest() {
		var compacted *store.CompactedError
		if !errors.As(err, &compacted) {
			m.t.Errorf("a snapshot at %d, before the oldest revision %d: got %v, want a *CompactedError", revision,
				m.store.Oldest(), err)
		}
		return
	}
	if err != nil {
		m.t.Error(err)
		return
	}
	prefix := m.prefix()
	m.compare(fmt.Sprint("snapshot ", revision), seenIn(got, prefix), m.states[revision], prefix)
	if want := len(within(m.states[revision], prefix)); got.Len(prefix, "") != want {
		m.t.Errorf("the snapshot at %d has %d objects of %s, want %d", revision, got.Len(prefix, ""), prefix, want)
	}
}

// watch starts a watch at a random revision of the history, with the state at that revision.
func (m *model) watch() {
	after := m.store.Current() - object.Revision(m.random.IntN(int(m.store.Current()-m.store.Oldest())+1))
	prefix := m.prefix()
	w, err := m.store.Watch(prefix, after)
	if err != nil {
		m.t.Error(err)
		return
	}
	m.watchers = append(m.watchers, &follower{w, prefix, within(m.states[after], prefix)})
}

// take delivers events to a watcher and compares its state.
func (m *model) take(i int) {
	f := m.watchers[i]
	events, err := f.watch.Take(1 + m.random.IntN(20))
	if err != nil {
		if !errors.Is(err, store.ErrSlow) || f.watch.Revision() >= m.store.Oldest() {
			m.t.Errorf("take at revision %d, the oldest being %d: %v", f.watch.Revision(), m.store.Oldest(), err)
		}
		f.watch.Stop()
		m.watchers = slices.Delete(m.watchers, i, i+1)
		return
	}
	for _, e := range events {
		if f.state[e.Key()].value != Value(e.Previous) {
			m.t.Errorf("%s was %q, but the previous state of its event at %d is %q", e.Key(), f.state[e.Key()].value,
				e.Revision(),
				Value(e.Previous))
		}
		delete(f.state, e.Key())
		if !e.Deleted {
			f.state[e.Key()] = keyState{Value(e.Object), e.Revision()}
		}
	}
	m.compare(fmt.Sprint("watch at ", f.watch.Revision()), f.state, m.states[f.watch.Revision()], f.prefix)
}

func (m *model) compare(what string, got, state map[object.Key]keyState, prefix object.Key) {
	if want := within(state, prefix); !maps.Equal(got, want) {
		m.t.Errorf("%s of %s: got\n%v\nwant\n%v", what, prefix, got, want)
	}
}

func seenIn(snapshot *store.Snapshot, prefix object.Key) map[object.Key]keyState {
	got := map[object.Key]keyState{}
	snapshot.Scan(prefix, "", func(o *object.Object) bool {
		got[o.Key] = keyState{Value(o), o.Revision}
		return true
	})
	return got
}

// within returns the part of a state with a prefix.
func within(state map[object.Key]keyState, prefix object.Key) map[object.Key]keyState {
	part := map[object.Key]keyState{}
	for key, h := range state {
		if key == prefix || strings.HasSuffix(string(prefix), "/") && strings.HasPrefix(string(key), string(prefix)) {
			part[key] = h
		}
	}
	return part
}
