package informer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/client"
)

// enqueue enqueues the events of a watch in the FIFO. After an error, the reflector must list again.
func (r *reflector[T]) enqueue(events []client.Event) error {
	var lost error
	changes := make([]delta[T], 0, len(events))
	for _, event := range events {
		switch {
		case event.Type == watch.Bookmark:
			r.sequence.confirm(event.Revision)
		case event.Type == watch.Error: // the object is unknown, so the cache may be stale
			r.reader.reportUnreadable(event.Err)
			lost = fmt.Errorf("%w: %w", client.ErrUnreadable, event.Err)
		case r.sequence.admits(keyOf(event.Object), event.Revision, event.Type == watch.Deleted):
			changes = append(changes,
				delta[T]{Type: deltaTypeOf(event.Type), state: r.reader.state(event.Codec, event.Object)})
		}
	}
	r.fifo.add(changes, r.sequence.last)
	return lost
}

func deltaTypeOf(t watch.EventType) deltaType {
	switch t {
	case watch.Added:
		return deltaAdded
	case watch.Deleted:
		return deltaDeleted
	}
	return deltaUpdated
}
