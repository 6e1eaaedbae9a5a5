// Package informer keeps a local copy of a resource's objects and tells handlers what happens to them. Its parts, in
// the order in which an event passes them:
//
//	reflector    lists, then watches, and survives whatever goes wrong with that
//	delta FIFO   what happened, in order, collapsed per object
//	indexer      the cache: by key, and by the values of named indexes
//	handlers     any number, each told everything, in order, on a goroutine of its own
//
// One informer is one watch and one cache for all who use it; a Factory shares informers among controllers. Where the
// source is in the server's own process, cached objects are the server's own. Either way they are immutable;
// DetectMutations makes a test fail that changes one.
//
// Controllers read the cache through an Indexer or a Lister, and write through package client. The package knows
// neither the server nor the wire: client.Source hides which one it has.
package informer

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/object"
)

// Options of an informer. The zero value is all objects in all namespaces, without resync.
type Options[T client.Object] struct {
	Namespace string
	Labels    labels.Selector
	Fields    fields.Selector

	// Indexes are those that the cache begins with.
	Indexes map[string]IndexFunc[T]

	// Resync is how often every cached object is passed to the handlers again, so that they look after what no event
	// tells of; 0 for never.
	Resync time.Duration

	// Relist is how often the list is read anew although the watch goes on, to heal what a faulty server or connection
	// has lost; 0 for never, since a watch that keeps its promises loses nothing.
	Relist time.Duration

	// Decode makes a T of what the source yields where T alone does not say how, as an interface does not. Objects that o
	// shares must not be changed. It is called by one goroutine at a time; nil reads what New tells of.
	Decode func(by object.Codec, o *object.Object) (T, error)

	// Transform changes each object before it is cached and told of, so as to keep less of it, say; nil takes objects as they
	// are. It may change its argument, which is nobody else's, and return it, or another object of the same name. An error
	// stands for an object that cannot be read. It may be called by several goroutines at once.
	Transform func(T) (T, error)

	// Lazy keeps objects as the source has them, undecoded, and decodes each when it is read. That saves memory, and time
	// where few are read.
	Lazy bool

	// Mutations detects changes of cached objects; nil does not look. See DetectMutations.
	Mutations *Mutations

	// Log is nil for slog.Default.
	Log *slog.Logger
}

// Informer keeps the objects of a resource, or some of them, as T. Make it with New, add handlers and indexes at any
// time, and Run it once. Its other methods may be called by many goroutines.
type Informer[T client.Object] struct {
	resource schema.GroupVersionResource
	resync   time.Duration
	indexer  *Indexer[T]
	fifo     *deltaFIFO[T]
	reflect  *reflector[T]
	detect   *Mutations
	synced   chan struct{}

	// mu keeps what handlers are told in step with the cache: a handler that comes late gets what is there, and then
	// what happens.
	mu        sync.Mutex
	listeners []*listener[T]
	filled    bool
	progress  progress
	running   context.Context // of the handlers' goroutines; nil while Run is not running
	handlers  sync.WaitGroup
}

// New makes an informer of a resource that source serves. T may be the type that the source's objects decode to, which
// are then shared; else, a pointer to any struct that their JSON can be read into, and then each object is read once.
func New[T client.Object](source client.Source, resource schema.GroupVersionResource, options Options[T]) *Informer[T] {
	log := options.Log
	if log == nil {
		log = slog.Default()
	}
	i := &Informer[T]{
		resource: resource,
		resync:   options.Resync,
		indexer:  newIndexer(options.Indexes),
		detect:   options.Mutations,
		synced:   make(chan struct{}),
	}
	i.fifo = newDeltaFIFO(i.indexer, i.fill)
	i.reflect = &reflector[T]{
		converter: converter[T]{decode: options.Decode},
		source:    source,
		resource:  resource,
		options:   client.Options{Namespace: options.Namespace, Labels: options.Labels, Fields: options.Fields},
		relist:    options.Relist,
		fifo:      i.fifo,
		log:       log.With("resource", resource.GroupResource().String()),
	}
	return i
}

// Indexer is the cache.
func (i *Informer[T]) Indexer() *Indexer[T] { return i.indexer }

// Resource is what the informer keeps the objects of.
func (i *Informer[T]) Resource() schema.GroupVersionResource { return i.resource }

// Lister reads the cache.
func (i *Informer[T]) Lister() Lister[T] {
	return Lister[T]{resource: i.resource.GroupResource(), indexer: i.indexer}
}

// Synced is closed when the cache holds all that there was when the informer first listed.
func (i *Informer[T]) Synced() <-chan struct{} { return i.synced }

// AddHandler has a handler told of all objects, those that are cached already first. It may be called at any time, by a
// handler too.
func (i *Informer[T]) AddHandler(handler Handler[T]) *Registration {
	l := newListener(handler)
	i.mu.Lock()
	defer i.mu.Unlock()
	var first []notice[T]
	for _, obj := range i.indexer.List() {
		first = append(first, notice[T]{kind: noticeAdd, new: obj, flag: true})
	}
	if i.filled {
		first = append(first, notice[T]{kind: noticeSynced})
	}
	l.tell(first...)
	i.listeners = append(i.listeners, l)
	if i.running != nil {
		i.start(l)
	}
	return &Registration{synced: l.synced, remove: func() { i.removeListener(l) }, resync: func() { i.resyncListener(l) }}
}

// removeListener has a handler told of nothing more.
func (i *Informer[T]) removeListener(l *listener[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.listeners = slices.DeleteFunc(i.listeners, func(other *listener[T]) bool { return other == l })
	l.stop()
}

// resyncListener passes what is cached to one handler again.
func (i *Informer[T]) resyncListener(l *listener[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for obj := range i.indexer.All() {
		l.tell(notice[T]{kind: noticeUpdate, old: obj, new: obj})
	}
}

// Run lists and watches until ctx ends, and returns when every goroutine that it started has ended. It must be called
// once at most.
func (i *Informer[T]) Run(ctx context.Context) {
	i.mu.Lock()
	i.running = ctx
	for _, l := range i.listeners {
		i.start(l)
	}
	i.mu.Unlock()

	var parts sync.WaitGroup
	parts.Go(func() { i.reflect.run(ctx) })
	parts.Go(func() { i.fifo.run(ctx, i.process) })
	if i.resync > 0 {
		parts.Go(func() { i.syncRegularly(ctx) })
	}
	parts.Wait()

	i.mu.Lock()
	i.running = nil
	i.mu.Unlock()
	i.handlers.Wait()
}

// start gives a handler its goroutine. The lock is held.
func (i *Informer[T]) start(l *listener[T]) {
	ctx := i.running
	i.handlers.Go(func() { l.run(ctx) })
}

func (i *Informer[T]) syncRegularly(ctx context.Context) {
	tick := time.NewTicker(i.resync)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			i.fifo.resync()
		case <-ctx.Done():
			return
		}
	}
}

// fill notes that the first list is in the cache.
func (i *Informer[T]) fill() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.filled = true
	close(i.synced)
	i.tell(notice[T]{kind: noticeSynced})
}

// process brings what happened to one object into the cache and to the handlers.
func (i *Informer[T]) process(key Key, deltas []Delta[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	defer i.progress.made()
	for _, d := range deltas {
		cached, known := i.indexer.Get(key)
		switch {
		case d.Type == Deleted:
			i.deleted(key, d, cached, known)
		case d.Type == Sync:
			if known {
				i.tell(notice[T]{kind: noticeUpdate, old: cached, new: cached})
			}
		case !known:
			i.store(key, d.Object)
			i.tell(notice[T]{kind: noticeAdd, new: d.Object, flag: !i.filled})
		default:
			i.changed(key, d, cached)
		}
	}
}

// deleted takes an object out, unless the deletion is that of an older object than the cached one.
func (i *Informer[T]) deleted(key Key, d Delta[T], cached T, known bool) {
	if !known || !d.FinalStateUnknown && older(d.Object, cached) {
		return
	}
	i.detect.release(cached)
	i.indexer.remove(key)
	i.tell(notice[T]{kind: noticeDelete, old: d.Object, flag: d.FinalStateUnknown})
}

// changed replaces a cached object by a newer state. What was seen before is not told again, what comes late is
// dropped, and an object that took the name of another is another: its predecessor's deletion was not seen.
func (i *Informer[T]) changed(key Key, d Delta[T], cached T) {
	if d.Object.GetUID() == cached.GetUID() && d.Object.GetResourceVersion() == cached.GetResourceVersion() {
		return
	}
	if isWatched(d.Type) && older(d.Object, cached) {
		return
	}
	i.detect.release(cached)
	i.store(key, d.Object)
	if d.Object.GetUID() != cached.GetUID() {
		i.tell(notice[T]{kind: noticeDelete, old: cached, flag: true})
		i.tell(notice[T]{kind: noticeAdd, new: d.Object})
		return
	}
	i.tell(notice[T]{kind: noticeUpdate, old: cached, new: d.Object})
}

func (i *Informer[T]) store(key Key, obj T) {
	i.detect.hold(obj)
	i.indexer.put(key, obj)
}

func (i *Informer[T]) tell(n notice[T]) {
	for _, l := range i.listeners {
		l.tell(n)
	}
}
