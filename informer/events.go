package informer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/client"
)

// take brings the events of a watch into the FIFO. After the error, the list must be read anew.
func (r *reflector[T]) take(events []client.Event) error {
	var lost error
	admitted := events[:0:0]
	for _, event := range events {
		switch {
		case event.Type == watch.Bookmark:
			r.sequence.settle(event.Revision)
		case event.Type == watch.Error: // of which object it is cannot be told: it may be the last news of one
			r.reader.passOver(event.Err)
			lost = fmt.Errorf("%w: %w", client.ErrUnreadable, event.Err)
		case r.sequence.admits(keyOf(event.Object), event.Revision, event.Type == watch.Deleted):
			admitted = append(admitted, event)
		}
	}
	r.fifo.add(r.deltas(admitted), r.sequence.last)
	return lost
}

// deltas are what events are to the FIFO. Of an object that cannot be read the last known state stands, until it is deleted.
func (r *reflector[T]) deltas(events []client.Event) []delta[T] {
	read := make([]received, len(events))
	for i, event := range events {
		read[i] = received{by: event.Codec, raw: event.Object}
	}
	changes := make([]delta[T], 0, len(events))
	for i, s := range r.reader.states(read) {
		change := delta[T]{Type: deltaType(events[i].Type), state: s}
		if s == nil && change.Type == Deleted {
			change.state, change.unknown = r.lastState(changes, keyOf(events[i].Object)), true
		}
		if change.state != nil {
			changes = append(changes, change)
		}
	}
	return changes
}

// lastState is the last known state of an object: among changes that are not in the FIFO yet, or from there.
func (r *reflector[T]) lastState(changes []delta[T], key Key) *state[T] {
	for i := len(changes) - 1; i >= 0; i-- {
		if changes[i].state.key == key {
			return changes[i].state
		}
	}
	return r.fifo.known(key)
}

func deltaType(t watch.EventType) DeltaType {
	switch t {
	case watch.Added:
		return Added
	case watch.Deleted:
		return Deleted
	}
	return Updated
}
