package controller

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/object"
)

// longestStale is how long a request waits for the caches to show what its last run wrote.
const longestStale = 5 * time.Second

// written is what each request's runs have written and nobody has waited for yet. Before a request is reconciled again, the
// caches must show that: a reconciler that reads its own writes does not repeat them. Nothing is kept of a request whose last
// run wrote nothing.
type written struct {
	caches []*informer.Factory
	log    *slog.Logger

	mu     sync.Mutex
	writes map[Request]map[place]object.Revision
}

// place is where something was written.
type place struct {
	resource schema.GroupResource
	key      informer.Key
}

// observe is ctx with an observer of what is written with it.
func (w *written) observe(ctx context.Context, request Request) context.Context {
	if len(w.caches) == 0 {
		return ctx
	}
	return client.Observe(ctx, func(write client.Write) { w.note(request, write) })
}

func (w *written) note(request Request, write client.Write) {
	if write.Failed() || write.Revision == 0 || write.Name == "" {
		return
	}
	at := place{write.Resource.GroupResource(), informer.Key{Namespace: write.Namespace, Name: write.Name}}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writes[request] == nil {
		w.writes[request] = map[place]object.Revision{}
	}
	w.writes[request][at] = max(w.writes[request][at], write.Revision)
}

// take is what a request has written.
func (w *written) take(request Request) map[place]object.Revision {
	w.mu.Lock()
	defer w.mu.Unlock()
	writes := w.writes[request]
	delete(w.writes, request)
	return writes
}

// await waits until the caches show what a request has written, within a bound.
func (w *written) await(ctx context.Context, request Request) {
	writes := w.take(request)
	if len(writes) == 0 {
		return
	}
	limited, cancel := context.WithTimeout(ctx, longestStale)
	defer cancel()
	for at, revision := range writes {
		for _, cache := range w.caches {
			err := cache.Reached(limited, at.resource, at.key, revision)
			if err == nil || ctx.Err() != nil {
				continue
			}
			if errors.Is(err, context.DeadlineExceeded) {
				w.log.Warn("a cache is behind what was written: reconciling nevertheless", "object", request.String(),
					"written", at.resource.String()+" "+at.key.String(), "revision", revision, "waited", longestStale)
			}
			return
		}
	}
}
