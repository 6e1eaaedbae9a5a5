package clientgo

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// shortestResync is the shortest interval of resyncs, as in client-go.
const shortestResync = time.Second

// AddEventHandler adds a handler, which is first notified of the cached objects.
func (i *sharedInformer[T]) AddEventHandler(
	to cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(to, cache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod is like AddEventHandler with an interval of resyncs; 0 means never.
func (i *sharedInformer[T]) AddEventHandlerWithResyncPeriod(
	to cache.ResourceEventHandler, resync time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(to, cache.HandlerOptions{ResyncPeriod: &resync})
}

// AddEventHandlerWithOptions is like AddEventHandler with options. Each handler has its own interval of resyncs,
// exactly as requested but not below a second.
func (i *sharedInformer[T]) AddEventHandlerWithOptions(
	to cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stopped() {
		return nil, fmt.Errorf("%s: the handler %s was not added to shared informer because it has stopped already",
			i.store.resource.GroupResource(), nameOf(to))
	}
	r := &registration[T]{
		to: to, of: i, log: ptr.Deref(options.Logger, klog.Background()),
		resync:  ptr.Deref(options.ResyncPeriod, i.resync),
		drained: make(chan struct{}),
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

// RemoveEventHandler removes a handler. It does not wait for a running call. It has no effect on a removed handler or
// one of another informer, and returns an error for a registration of another implementation.
func (i *sharedInformer[T]) RemoveEventHandler(handle cache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration[T])
	if !ok {
		return fmt.Errorf("%s: cannot remove a %T: pass the value returned when the handler was added",
			i.store.resource.GroupResource(), handle)
	}
	if r.of != i {
		return nil
	}
	r.end()
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.handlers, r)
	return nil
}

// resyncRegularly resyncs a handler at its interval while the informer runs. The caller holds the lock.
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
		case <-r.drained:
			return
		case <-ctx.Done():
			return
		}
	}
}
