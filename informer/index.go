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
	"github.com/bowline-dev/bowline/internal/object"
)

// IndexFunc returns the values under which an index lists an object. It must depend only on the object and must not
// modify it. It must not use the indexer or its lister, which are locked: that would deadlock the informer. If it
// panics, the panic is logged and the index does not list the object.
type IndexFunc[T client.Object] func(obj T) []string

// Head is the part of an object that a lazy informer knows without decoding it.
type Head struct {
	Key
	UID      types.UID         // metadata.uid
	Revision object.Revision   // metadata.resourceVersion
	Labels   map[string]string // metadata.labels; shared, must not be modified
	// Owners lists the UIDs in metadata.ownerReferences.
	Owners []types.UID
}

// HeadFunc is an IndexFunc that needs only the head of an object, so that a lazy informer need not decode it.
type HeadFunc func(head Head) []string

// ByOwner is a HeadFunc for AddHeadIndex. It indexes objects by the UID of each of their owners.
func ByOwner(head Head) []string {
	values := make([]string, len(head.Owners))
	for i, owner := range head.Owners {
		values[i] = string(owner)
	}
	return values
}

// ByLabel returns a HeadFunc that indexes objects by the value of the label key. The index omits objects without it.
func ByLabel(key string) HeadFunc {
	return func(head Head) []string {
		if value, labelled := head.Labels[key]; labelled {
			return []string{value}
		}
		return nil
	}
}

// ByNodeName is an IndexFunc. It indexes pods by spec.nodeName, which is empty for unbound pods.
func ByNodeName(pod *corev1.Pod) []string { return []string{pod.Spec.NodeName} }

// AddIndex adds an index, which includes the objects that are cached already. It may be called at any time. If the
// indexer has an index of that name, AddIndex does nothing, so that each user of a shared informer can add the indexes
// that it needs. Users must therefore agree on what a name means.
func (x *Indexer[T]) AddIndex(name string, values IndexFunc[T]) {
	x.addIndex(name, func(s *state[T], found []string) []string {
		obj, err := s.read()
		if err != nil {
			return found
		}
		return append(found, values(obj)...)
	})
}

// AddHeadIndex is like AddIndex for a HeadFunc. A lazy informer then does not decode objects to index them.
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

// index lists states by value.
type index[T client.Object] struct {
	name string
	// values appends the values of a state.
	values  func(s *state[T], found []string) []string
	buckets map[string]*bucket[T]
}

// valuesOf appends the values of a state to found, or none if that panics.
func (i *index[T]) valuesOf(s *state[T], found []string, log *slog.Logger) (values []string) {
	defer func() {
		if reason := recover(); reason != nil {
			values = found
			log.Error("an index function panicked: the object is not in the index", "index", i.name, "object",
				s.key.String(),
				"panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
		}
	}()
	return i.values(s, found)
}

// add lists a state under a value.
func (i *index[T]) add(s *state[T], value string) {
	b := i.buckets[value]
	if b == nil {
		b = &bucket[T]{index: i, value: value}
		i.buckets[value] = b
	}
	if !slices.ContainsFunc(s.positions, func(p position[T]) bool { return p.in == b }) {
		b.add(s)
	}
}

// bucket holds the states that an index lists under one value. Readers share the slice itself: a writer
// clones it before it changes elements that a reader may see. So reads do not copy, and writes copy at most
// once per read.
type bucket[T client.Object] struct {
	index  *index[T] // nil for the bucket of all states
	value  string
	states []*state[T]
	shared atomic.Bool
}

// position is the position of a state in a bucket.
type position[T client.Object] struct {
	in *bucket[T]
	at int
}

// share returns the current states. The caller holds the indexer's lock, and may use the slice after
// releasing it.
func (b *bucket[T]) share() []*state[T] {
	if b == nil {
		return nil
	}
	if !b.shared.Load() {
		b.shared.Store(true)
	}
	return b.states
}

// writable returns the states for modification.
func (b *bucket[T]) writable() []*state[T] {
	if b.shared.Load() {
		b.states = slices.Clone(b.states)
		b.shared.Store(false)
	}
	return b.states
}

// add appends a state, beyond the part that readers see.
func (b *bucket[T]) add(s *state[T]) {
	s.positions = append(s.positions, position[T]{b, len(b.states)})
	b.states = append(b.states, s)
}

// leave removes a state from all buckets, moving the last state of each bucket to the free position.
func (s *state[T]) leave() {
	for _, p := range s.positions {
		states := p.in.writable()
		end := len(states) - 1
		last := states[end]
		states[p.at], states[end] = last, nil
		p.in.states = states[:end]
		for i := range last.positions {
			if last.positions[i].in == p.in {
				last.positions[i].at = p.at
			}
		}
		if end == 0 && p.in.index != nil {
			delete(p.in.index.buckets, p.in.value)
		}
	}
	s.positions = nil
}
