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

// longestStale is how long a request waits for the caches to show what the controller has written.
const longestStale = 5 * time.Second

// written is what a controller's runs have written and nobody has waited for yet. Before a request is reconciled, the caches must
// show that: a reconciler that reads its own writes does not repeat them, and what it took for one object it does not take for
// another.
type written struct {
	caches []*informer.Factory
	log    *slog.Logger

	mu     sync.Mutex
	writes map[place]awaited
	count  uint64
}

// place is where something was written.
type place struct {
	server   string
	resource schema.GroupResource
	key      informer.Key
}

// awaited is what the caches are to show of a place.
type awaited struct {
	client.Write
	number uint64 // tells it from another write of the same place
}

// observe is ctx with an observer of what is written with it.
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
	at := place{write.Server, write.Resource.GroupResource(), informer.Key{Namespace: write.Namespace, Name: write.Name}}
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

// outstanding is what nobody has waited for.
func (w *written) outstanding() map[place]awaited {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.writes) == 0 {
		return nil
	}
	return maps.Clone(w.writes)
}

// drop forgets a write, and says whether nobody else has.
func (w *written) drop(at place, write awaited) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writes[at].number != write.number {
		return false
	}
	delete(w.writes, at)
	return true
}

// await waits until the caches show what the controller has written, within a bound.
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
			w.log.Warn("a cache is behind what was written: reconciling nevertheless", "object", request.String(),
				"written", at.resource.String()+" "+at.key.String(), "revision", write.Revision, "waited", longestStale)
		}
	}
}

// shown waits until all caches show a write.
func (w *written) shown(ctx context.Context, write client.Write) error {
	for _, cache := range w.caches {
		if err := cache.Shows(ctx, write); err != nil {
			return err
		}
	}
	return nil
}
