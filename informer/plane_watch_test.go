package informer_test

import (
	"context"
	"io"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
)

// planeWatch is a watch on a plane.
type planeWatch struct {
	plane   *plane
	options client.Options
	after   object.Revision
	breaks  int
	ended   bool
}

func (w *planeWatch) Next(ctx context.Context) ([]client.Event, error) {
	p := w.plane
	stop := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.changed.Broadcast()
	})
	defer stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		var events []client.Event
		for _, event := range p.history {
			if event.Revision > w.after && (event.Type == watch.Bookmark || selected(event.Object, w.options)) {
				events = append(events, event)
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case w.ended:
			return nil, io.EOF
		case w.breaks != p.breaks:
			return nil, io.ErrUnexpectedEOF
		case len(events) > 0:
			w.after = p.revision
			if p.faults != nil {
				events = p.faults.apply(events)
			}
			if len(events) > 0 {
				return events, nil
			}
		}
		p.changed.Wait()
	}
}

func (w *planeWatch) Stop() {
	w.plane.mu.Lock()
	defer w.plane.mu.Unlock()
	w.ended = true
	w.plane.changed.Broadcast()
}

// faults drops, duplicates and delays events at random.
type faults struct {
	random  *rand.Rand
	delayed []client.Event
}

func (f *faults) apply(events []client.Event) []client.Event {
	var out []client.Event
	for _, event := range events {
		switch f.random.IntN(5) {
		case 0: // lost
		case 1:
			out = append(out, event, event)
		case 2:
			f.delayed = append(f.delayed, event)
		default:
			out = append(out, event)
		}
		if len(f.delayed) > 0 && f.random.IntN(3) == 0 {
			out = append(out, f.delayed...)
			f.delayed = nil
		}
	}
	return out
}
