package informer

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/object"
)

// IndexFunc is the values under which an index finds an object. It must depend on the object alone, and must not use
// the indexer, or a lister of it, which is locked meanwhile: that would stop the informer for ever. When it panics, that is
// logged, and the index does not find the object.
type IndexFunc[T client.Object] func(obj T) []string

// Head is what is known of an object without decoding it.
type Head struct {
	Key
	UID      types.UID
	Revision object.Revision
	Labels   map[string]string
	// Owners are the uids of metadata.ownerReferences.
	Owners []types.UID
}

// HeadFunc is an IndexFunc that the head of an object is enough for: a lazy informer asks it without decoding the object.
type HeadFunc func(head Head) []string

// ByNamespace finds objects by their namespace. Every indexer has this index, under the name "namespace".
func ByNamespace(head Head) []string { return []string{head.Namespace} }

// ByOwner finds objects by the uid of each of their owners.
func ByOwner(head Head) []string {
	values := make([]string, len(head.Owners))
	for i, owner := range head.Owners {
		values[i] = string(owner)
	}
	return values
}

// ByLabel finds objects by the value of a label; those without it are not found.
func ByLabel(key string) HeadFunc {
	return func(head Head) []string {
		if value, labelled := head.Labels[key]; labelled {
			return []string{value}
		}
		return nil
	}
}

// ByNodeName finds pods by the node that they are bound to, and those that are bound to none by "".
func ByNodeName(pod *corev1.Pod) []string { return []string{pod.Spec.NodeName} }

// AddIndex adds an index, of what is there already too. It may be called at any time. Adding a name again does nothing:
// informers are shared, and whoever needs an index asks for it.
func (x *Indexer[T]) AddIndex(name string, values IndexFunc[T]) {
	x.addIndex(name, func(s *state[T], found []string) []string {
		obj, err := s.read()
		if err != nil {
			return found
		}
		return append(found, values(obj)...)
	})
}

// AddHeadIndex is AddIndex for what an object's head is enough for.
func (x *Indexer[T]) AddHeadIndex(name string, values HeadFunc) {
	x.addIndex(name, func(s *state[T], found []string) []string { return append(found, values(s.head())...) })
}

func (x *Indexer[T]) addIndex(name string, values func(*state[T], []string) []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, i := range x.indexes {
		if i.name == name {
			return
		}
	}
	added := &index[T]{name: name, values: values, buckets: map[string]*bucket[T]{}}
	x.indexes = append(x.indexes, added)
	for _, s := range x.all.states {
		for _, value := range added.valuesOf(s, nil, x.log) {
			added.add(s, value)
		}
	}
}

// index finds states by a value.
type index[T client.Object] struct {
	name string
	// values appends those of a state.
	values  func(s *state[T], found []string) []string
	buckets map[string]*bucket[T]
}

// valuesOf appends the values of a state to found; none when that panics.
func (i *index[T]) valuesOf(s *state[T], found []string, log *slog.Logger) (values []string) {
	defer func() {
		if reason := recover(); reason != nil {
			values = found
			log.Error("an index function panicked: the index does not find the object", "index", i.name, "object", s.key.String(),
				"panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
		}
	}()
	return i.values(s, found)
}

// add finds a state under a value from now on.
func (i *index[T]) add(s *state[T], value string) {
	b := i.buckets[value]
	if b == nil {
		b = &bucket[T]{of: i, value: value}
		i.buckets[value] = b
	}
	if !slices.ContainsFunc(s.places, func(p place[T]) bool { return p.in == b }) {
		b.add(s)
	}
}

// bucket is the states that an index has under one value. Readers share the slice itself: a writer clones it before it
// changes what one of them may look at, so that a read costs nothing, and a write what a read would have cost.
type bucket[T client.Object] struct {
	of     *index[T] // nil for the one of all states
	value  string
	states []*state[T]
	shared atomic.Bool
}

// place is where a bucket has a state.
type place[T client.Object] struct {
	in *bucket[T]
	at int
}

// share is the states as they are now, for a reader who holds the indexer's lock and may give it back.
func (b *bucket[T]) share() []*state[T] {
	if b == nil {
		return nil
	}
	if !b.shared.Load() {
		b.shared.Store(true)
	}
	return b.states
}

// own is the states for a writer to change.
func (b *bucket[T]) own() []*state[T] {
	if b.shared.Load() {
		b.states = slices.Clone(b.states)
		b.shared.Store(false)
	}
	return b.states
}

// add puts a state behind the others, where no reader looks.
func (b *bucket[T]) add(s *state[T]) {
	s.places = append(s.places, place[T]{b, len(b.states)})
	b.states = append(b.states, s)
}

// leave takes a state out of all its places. The last of a bucket takes the place that gets free.
func (s *state[T]) leave() {
	for _, p := range s.places {
		states := p.in.own()
		end := len(states) - 1
		last := states[end]
		states[p.at], states[end] = last, nil
		p.in.states = states[:end]
		for i := range last.places {
			if last.places[i].in == p.in {
				last.places[i].at = p.at
			}
		}
		if end == 0 && p.in.of != nil {
			delete(p.in.of.buckets, p.in.value)
		}
	}
	s.places = nil
}
