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

// maxStale bounds the time that a request waits for the caches to reflect the controller's writes.
const maxStale = 5 * time.Second

// written holds the writes of a controller that its caches may not reflect yet. The controller waits for the caches
// before it reconciles a request. A reconciler that reads its own writes does not repeat them, or assign a value to one
// object that it has already assigned to another.
type written struct {
	caches []*informer.Factory
	log    *slog.Logger

	mu     sync.Mutex
	writes map[target]pendingWrite
	count  uint64
}

// target identifies a written object.
type target struct {
	server   string
	resource schema.GroupResource
	key      informer.Key
}

// pendingWrite is a write that the caches may not reflect yet.
type pendingWrite struct {
	client.Write
	number uint64 // distinguishes writes of the same object
}

// observe returns a context whose writes are recorded.
func (w *written) observe(ctx context.Context) context.Context {
	if len(w.caches) == 0 {
		return ctx
	}
	return client.Observe(ctx, w.record)
}

func (w *written) record(write client.Write) {
	if write.Failed() || write.Name == "" || write.Revision == 0 && !write.Gone {
		return
	}
	at := target{write.Server, write.Resource.GroupResource(),
		informer.Key{Namespace: write.Namespace, Name: write.Name}}
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, found := w.writes[at]; found {
		write.Revision = max(write.Revision, before.Revision)
		if write.Labels == nil { // a deletion has none
			write.Labels = before.Labels
		}
	}
	w.count++
	w.writes[at] = pendingWrite{write, w.count}
}

// outstanding returns the recorded writes.
func (w *written) outstanding() map[target]pendingWrite {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.writes) == 0 {
		return nil
	}
	return maps.Clone(w.writes)
}

// drop removes a write and returns false if it was removed or superseded before.
func (w *written) drop(at target, write pendingWrite) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writes[at].number != write.number {
		return false
	}
	delete(w.writes, at)
	return true
}

// await waits, at most maxStale, until the caches reflect the recorded writes.
func (w *written) await(ctx context.Context, request Request) {
	writes := w.outstanding()
	if writes == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, maxStale)
	defer cancel()
	warned := false
	for at, write := range writes {
		err := w.waitForCaches(limited, write.Write)
		if ctx.Err() != nil {
			return
		}
		if w.drop(at, write) && errors.Is(err, context.DeadlineExceeded) && !warned {
			warned = true
			w.log.Warn("a cache does not show the last write: reconciling anyway", "object", request.String(),
				"written", at.resource.String()+" "+at.key.String(), "revision", write.Revision, "waited", maxStale)
		}
	}
}

// waitForCaches waits until all caches reflect a write.
func (w *written) waitForCaches(ctx context.Context, write client.Write) error {
	for _, cache := range w.caches {
		if err := cache.WaitForWrite(ctx, write); err != nil {
			return err
		}
	}
	return nil
}
