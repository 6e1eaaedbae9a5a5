package clientgo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/cache"
)

// shortestResync is how often a handler may be passed every object again, as in client-go.
const shortestResync = time.Second

// AddEventHandler has a handler told of all objects, those that are cached already first.
func (i *sharedInformer[T]) AddEventHandler(to cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(to, cache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod is AddEventHandler for one that is passed every object again so often; 0 for never.
func (i *sharedInformer[T]) AddEventHandlerWithResyncPeriod(to cache.ResourceEventHandler, resync time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(to, cache.HandlerOptions{ResyncPeriod: &resync})
}

// AddEventHandlerWithOptions is AddEventHandler with options. Each handler has a period of resyncs of its own, exactly as
// long as it asked for, but not below a second.
func (i *sharedInformer[T]) AddEventHandlerWithOptions(to cache.ResourceEventHandler, options cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stopped {
		return nil, fmt.Errorf("the informer of %s has stopped: a handler would be told of nothing", i.store.resource.GroupResource())
	}
	r := &registration[T]{to: to, of: i, resync: i.resync, gone: make(chan struct{})}
	if options.ResyncPeriod != nil {
		r.resync = *options.ResyncPeriod
	}
	if r.resync > 0 {
		r.resync = max(r.resync, shortestResync)
	}
	r.added = i.informer.AddHandler(r)
	i.handlers[r] = struct{}{}
	if i.running != nil {
		i.resyncRegularly(r)
	}
	return r, nil
}

var errForeign = errors.New("the registration is not one of this informer")

// RemoveEventHandler has a handler told of nothing more. It does not wait for a call that is under way. Removing again does
// nothing.
func (i *sharedInformer[T]) RemoveEventHandler(handle cache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration[T])
	if !ok || r.of != i {
		return fmt.Errorf("removing a %T from the informer of %s: %w", handle, i.store.resource.GroupResource(), errForeign)
	}
	r.end()
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.handlers, r)
	return nil
}

// resyncRegularly passes a handler every object again, for as long as the informer runs. The lock is held.
func (i *sharedInformer[T]) resyncRegularly(r *registration[T]) {
	if r.resync > 0 {
		ctx := i.running
		i.resyncs.Go(func() { r.resyncUntil(ctx) })
	}
}

func (r *registration[T]) resyncUntil(ctx context.Context) {
	tick := time.NewTicker(r.resync)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.added.Resync()
		case <-r.gone:
			return
		case <-ctx.Done():
			return
		}
	}
}
