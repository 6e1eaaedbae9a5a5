package controller

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

// longestStale is how long a request waits for the caches to show the controller's writes.
const longestStale = 5 * time.Second

// written holds the writes of a controller that its caches may not show yet. Before a request is reconciled,
// the caches must show them: a reconciler that reads its own writes does not repeat them, or use for one
// object what it has already used for another.
type written struct {
	caches []*informer.Factory
	log    *slog.Logger

	mu     sync.Mutex
	writes map[place]awaited
	count  uint64
}

// place identifies a written object.
type place struct {
	server   string
	resource schema.GroupResource
	key      informer.Key
}

// awaited is a write that the caches must show.
type awaited struct {
	client.Write
	number uint64 // distinguishes writes of the same object
}

// observe returns a context whose writes are recorded.
func (w *written) observe(ctx context.Context) context.Context {
	if len(w.caches) == 0 {
		return ctx
	}
	return client.Observe(ctx, w.note)
}

func (w *written) note(write client.Write) {
	if write.Failed() || write.Name == "" || write.Revision == 0 && !write.Gone {
		return
	}
	at := place{write.Server, write.Resource.GroupResource(),
		informer.Key{Namespace: write.Namespace, Name: write.Name}}
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, again := w.writes[at]; again {
		write.Revision = max(write.Revision, before.Revision)
		if write.Labels == nil { // as after a delete
			write.Labels = before.Labels
		}
	}
	w.count++
	w.writes[at] = awaited{write, w.count}
}

// outstanding returns the recorded writes.
func (w *written) outstanding() map[place]awaited {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.writes) == 0 {
		return nil
	}
	return maps.Clone(w.writes)
}

// drop removes a write and returns false if it was removed or superseded before.
func (w *written) drop(at place, write awaited) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writes[at].number != write.number {
		return false
	}
	delete(w.writes, at)
	return true
}

// await waits, at most longestStale, until the caches show the recorded writes.
func (w *written) await(ctx context.Context, request Request) {
	writes := w.outstanding()
	if writes == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, longestStale)
	defer cancel()
	warned := false
	for at, write := range writes {
		err := w.shown(limited, write.Write)
		if ctx.Err() != nil {
			return
		}
		if w.drop(at, write) && errors.Is(err, context.DeadlineExceeded) && !warned {
			warned = true
			w.log.Warn("a cache does not show the last write: reconciling anyway", "object", request.String(),
				"written", at.resource.String()+" "+at.key.String(), "revision", write.Revision, "waited", longestStale)
		}
	}
}

// shown waits until all caches show a write.
func (w *written) shown(ctx context.Context, write client.Write) error {
	for _, cache := range w.caches {
		if err := cache.WaitForWrite(ctx, write); err != nil {
			return err
		}
	}
	return nil
}
