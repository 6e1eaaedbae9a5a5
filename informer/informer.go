// Package informer maintains a local copy of a resource's objects and notifies handlers of changes. An event
// passes these parts in order:
//
//	reflector    lists, then watches, and recovers from failures
//	delta FIFO   queues the changes, coalesced per object
//	indexer      the cache: objects by key, and by the values of named indexes
//	handlers     any number, each with its own goroutine and backlog
//
// All users of an informer share one watch and one cache; a Factory shares informers among controllers. If
// the source is in the server's process, cached objects are the server's own. Equal parts of objects, such as
// the containers of a Deployment's Pods, share memory; over the network, those of one list. Objects must not
// be changed: DetectMutations fails a test that changes one, and reports the field and, if possible, the
// handler.
//
// Memory is bounded by the number of objects, not by the rate of changes. A lazy informer (Options.Lazy)
// stores objects encoded, and answers queries for names, labels and owners without decoding them. A
// Transform, or a Go type with few fields, reduces the size of each object.
//
// Controllers read the cache through an Indexer or a Lister, and write through package client. The package
// does not depend on the server or the network: client.Source hides both.
package informer

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/wire"
)

// Options configure an informer. The zero value selects all objects in all namespaces, without resyncs.
type Options[T client.Object] struct {
	// Namespace, Labels and Fields select the objects of the cache; the zero values select all.
	Namespace string
	Labels    labels.Selector
	Fields    fields.Selector
	// Uninitialized includes objects with pending initializers: see client.Options.
	Uninitialized bool

	// Indexes are the initial indexes of the cache.
	Indexes map[string]IndexFunc[T]

	// Resync is how often every cached object is passed to the handlers again, so that they check for changes
	// that no event reports; 0 means never.
	Resync time.Duration

	// Relist is how often the informer lists again while its watch works, to recover from events lost by a
	// faulty server or connection; 0 means never, since a correct watch loses none.
	Relist time.Duration

	// Decode decodes the source's objects if T does not determine how, for example because it is an
	// interface. It must not change objects that o shares. nil decodes as New describes. A lazy informer
	// calls it concurrently. It must not use the informer's own cache: see Transform.
	Decode func(by object.Codec, o *object.Object) (T, error)

	// Transform modifies each object before it is cached, for example to drop fields; nil does nothing. It
	// may change and return its argument, or return another object of the same name. If it returns an error,
	// the object counts as unreadable. It may be called concurrently. It must not use the informer's own
	// cache or a lister of it: an index of a lazy informer calls it while the cache is locked, so that would
	// deadlock.
	Transform func(T) (T, error)

	// Lazy stores objects as encoded by the source and decodes each when it is read. That saves memory, and
	// time if few objects are read.
	Lazy bool

	// Mutations detects changes of cached objects; nil disables detection. See DetectMutations.
	Mutations *Mutations

	// Log is nil for slog.Default.
	Log *slog.Logger
}

// Informer caches the objects of a resource as T. Handlers and indexes can be added at any time; Run must be
// called once. All methods are safe for concurrent use.
type Informer[T client.Object] struct {
	resource schema.GroupVersionResource
	interval time.Duration // of resyncs; 0 for never
	indexer  *Indexer[T]
	fifo     *deltaFIFO[T]
	reflect  *reflector[T]
	reader   *reader[T]
	log      *slog.Logger

	// mu guards the updater and the handlers.
	mu       sync.Mutex
	updater  updater[T]
	handlers handlerSet[T]
}

// New returns an informer of a resource that source serves. T may be the type that the source's objects
// decode to, which are then shared, or any pointer to a struct that their JSON can be decoded into.
func New[T client.Object](source client.Source, resource schema.GroupVersionResource, options Options[T]) *Informer[T] {
	log := options.Log
	if log == nil {
		log = slog.Default()
	}
	log = log.With("resource", resource.GroupResource().String())
	i := &Informer[T]{
		resource: resource,
		interval: options.Resync,
		indexer:  newIndexer(options.Indexes, log),
		reader:   newReader(resource.GroupVersion(), options, log),
		log:      log,
	}
	i.updater = updater[T]{indexer: i.indexer, lazy: options.Lazy, detect: options.Mutations,
		synced: make(chan struct{})}
	i.handlers = handlerSet[T]{mu: &i.mu, alive: map[*listener[T]]struct{}{}}
	i.indexer.resource = resource.GroupResource()
	i.fifo = newDeltaFIFO(i.indexer)
	i.reflect = &reflector[T]{
		reader:   i.reader,
		source:   source,
		resource: resource,
		options: client.Options{
			Namespace: options.Namespace, Labels: options.Labels, Fields: options.Fields,
			Uninitialized: options.Uninitialized,
			MetadataOnly:  onlyMetadata[T](), Protobuf: options.Decode == nil && wire.ReadsProtobuf[T](),
			New: newObject(options),
		},
		relist: options.Relist,
		fifo:   i.fifo,
		log:    log,
	}
	return i
}

// newObject returns a function that the source may use to decode objects into a T, or nil if the informer
// needs the encoded objects. Objects that the source decodes share equal parts, so an informer with a
// Transform or Mutations cannot use them.
func newObject[T client.Object](options Options[T]) func() client.Object {
	if options.Lazy || options.Decode != nil || options.Transform != nil || options.Mutations != nil ||
		!wire.ReadsProtobuf[T]() {
		return nil
	}
	t := reflect.TypeFor[T]().Elem()
	return func() client.Object { return reflect.New(t).Interface().(client.Object) }
}

// onlyMetadata reports whether T is the type of metadata-only objects.
func onlyMetadata[T client.Object]() bool {
	_, is := any(*new(T)).(*metav1.PartialObjectMetadata)
	return is
}

// Resource returns the resource of the informer.
func (i *Informer[T]) Resource() schema.GroupVersionResource { return i.resource }

// Indexer returns the cache.
func (i *Informer[T]) Indexer() *Indexer[T] { return i.indexer }

// Lister returns a lister of the cache.
func (i *Informer[T]) Lister() Lister[T] { return Lister[T]{i.indexer} }

// Synced returns a channel that is closed when the cache holds all objects of the first list.
func (i *Informer[T]) Synced() <-chan struct{} { return i.updater.synced }

// lastError returns why the informer cannot list or watch, or nil.
func (i *Informer[T]) lastError() error { return i.reflect.lastError.get() }

// Run lists and watches until ctx ends, and returns when all its goroutines have ended. It waits a few
// seconds for handlers that do not return; then it logs their names and leaves their goroutines, which end
// when the handlers return. Run must be called at most once.
func (i *Informer[T]) Run(ctx context.Context) {
	i.handlers.run(ctx)
	var parts sync.WaitGroup
	parts.Go(func() { i.reflect.run(ctx) })
	parts.Go(func() { i.fifo.run(ctx, i.process) })
	if i.interval > 0 {
		parts.Go(func() { every(ctx, i.interval, i.fifo.resync) })
	}
	parts.Wait()
	i.handlers.stop()
}

// every calls a function at an interval until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do()
		case <-ctx.Done():
			return
		}
	}
}

// mostAtOnce is the number of objects that are applied while the cache is locked, before readers get a turn.
const mostAtOnce = 256

// process applies a batch, which completes all changes up to a revision, to the cache and the handlers.
func (i *Informer[T]) process(batch []*pending[T], upTo object.Revision) {
	i.reader.decodeBatch(batch)
	i.mu.Lock()
	defer i.mu.Unlock()
	for some := range slices.Chunk(batch, mostAtOnce) {
		i.updater.apply(some)
		i.handlers.notify(i.updater.notices)
		i.updater.clearNotices()
	}
	if len(batch) > 0 && len(i.handlers.listeners) > 0 {
		i.handlers.scheduleCheck()
	}
	i.updater.progress.made(upTo)
}

// AddHandler adds a handler, which is called for the cached objects first. It may be called at any time, also
// by a handler. While Run runs, the informer calls each handler in a goroutine of its own, until the handler is
// removed.
func (i *Informer[T]) AddHandler(handler Handler[T]) *Registration {
	l := newListener(handler, i.updater.detect, i.log)
	i.mu.Lock()
	defer i.mu.Unlock()
	cached := i.indexer.snapshot()
	first := make([]notice[T], 0, len(cached)+1)
	for _, s := range cached {
		first = append(first, notice[T]{kind: noticeAdd, new: s, flag: true})
	}
	if i.updater.filled {
		first = append(first, notice[T]{kind: noticeSynced})
	}
	i.handlers.add(l, first)
	return &Registration{synced: l.synced, remove: func() { i.handlers.remove(l) }, resync: func() { i.resync(l) }}
}

// resync passes the cached objects to one handler.
func (i *Informer[T]) resync(l *listener[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var again []notice[T]
	for _, s := range i.indexer.snapshot() {
		again = append(again, notice[T]{kind: noticeSync, new: s})
	}
	l.tell(again)
}
