// Package informer maintains a local copy of a resource's objects and notifies handlers of changes. It does what the
// informers of client-go do. Most programs do not create informers themselves: package controller does, for its
// reconcilers. A program that needs a cache without a controller starts with NewFactory and For.
//
// A change passes these parts in order:
//
//	reflector    lists, then watches, and recovers from failures
//	delta FIFO   queues the changes, coalesced per object
//	indexer      the cache: objects by key, and by the values of named indexes
//	handlers     any number, each with its own goroutine and backlog
//
// All users of an informer share one watch and one cache; a Factory shares informers among controllers. Cached objects
// are shared and must not be modified. If the source is in the server's process, they are the server's own; otherwise,
// equal parts of the objects of one list, such as the containers of a Deployment's Pods, share memory. DetectMutations
// fails a test that modifies a cached object, and reports the field and, if possible, the handler.
//
// Memory is bounded by the number of objects, not by the rate of changes. A lazy informer (Options.Lazy)
// stores objects encoded, and answers queries for names, labels and owners without decoding them. A
// Transform, or a Go type with few fields, reduces the size of each object.
//
// Reconcilers read the cache through an Indexer or a Lister, and write through package client. The package
// does not depend on the server or the network: client.Source is the interface to both.
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

// Options configures an informer. The zero value selects all objects in all namespaces, without resyncs.
type Options[T client.Object] struct {
	// Namespace, Labels and Fields select the objects of the cache; the zero values select all.
	Namespace string
	Labels    labels.Selector
	Fields    fields.Selector
	// Uninitialized includes objects with pending initializers; see client.Options.
	Uninitialized bool

	// Indexes are the initial indexes of the cache, by name. AddIndex adds further ones.
	Indexes map[string]IndexFunc[T]

	// Resync is the interval at which every cached object is passed to the handlers again, so that they check for
	// changes that no event reports; 0 means never.
	Resync time.Duration

	// Relist is the interval at which the informer lists again although its watch works, to recover from events lost
	// by a faulty server or proxy; 0 means never, since a correct watch loses none.
	Relist time.Duration

	// Decode decodes the source's objects, for example if T is an interface type. Nil decodes as New describes. Decode
	// must not modify what by and o share. A lazy informer calls it concurrently. It must not use the informer's own
	// cache; see Transform.
	Decode func(by object.Codec, o *object.Object) (T, error)

	// Transform modifies each object before it is cached, for example to drop fields; nil does nothing. It owns its
	// argument: it may modify and return it, or return another object of the same name. If it returns an error, the
	// object counts as unreadable (see UnreadableError). It may be called concurrently. It must not use the informer's
	// own cache or a lister of it: an index of a lazy informer calls it while the cache is locked, so that would
	// deadlock.
	Transform func(T) (T, error)

	// Lazy makes the cache store objects as the source encoded them and decode each when it is read. That saves
	// memory, and time if few objects are read.
	Lazy bool

	// Mutations detects modifications of cached objects; nil disables detection. See DetectMutations.
	Mutations *Mutations

	// Log receives failures of the source, of decoding and of handlers; nil means slog.Default.
	Log *slog.Logger
}

// Informer caches the objects of a resource as values of type T. The cache is empty until Run is called. Handlers and
// indexes can be added at any time. All methods are safe for concurrent use.
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

// New returns an informer of a resource of source; call Run to start it. T is a pointer to a struct: the type that the
// source decodes its objects to, which are then shared and not copied, or any other type that their JSON can be decoded
// into. Factory and For share informers, which New does not.
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
	_, ok := any(*new(T)).(*metav1.PartialObjectMetadata)
	return ok
}

// Resource returns the resource of the informer.
func (i *Informer[T]) Resource() schema.GroupVersionResource { return i.resource }

// Indexer returns the cache, for queries by key and by index.
func (i *Informer[T]) Indexer() *Indexer[T] { return i.indexer }

// Lister returns a Lister of the cache, for queries by namespace and label selector.
func (i *Informer[T]) Lister() Lister[T] { return Lister[T]{i.indexer} }

// Synced returns a channel that is closed when the cache holds all objects of the first list. Handlers may not have
// been notified of them yet; see Registration.Synced.
func (i *Informer[T]) Synced() <-chan struct{} { return i.updater.synced }

// lastError returns the reason why the informer currently cannot list or watch, or nil.
func (i *Informer[T]) lastError() error { return i.reflect.lastError.get() }

// Run lists and watches until ctx ends. It retries after failures, which it logs, and returns when all its goroutines
// have ended. It waits up to 5 seconds for handlers that do not return; then it logs their names and leaves their
// goroutines, which end when the handlers return. Run must be called at most once.
func (i *Informer[T]) Run(ctx context.Context) {
	i.handlers.run(ctx)
	var parts sync.WaitGroup
	parts.Go(func() { i.reflect.run(ctx) })
	parts.Go(func() { i.fifo.run(ctx, i.process) })
	if i.interval > 0 {
		parts.Go(func() { repeat(ctx, i.interval, i.fifo.resync) })
	}
	parts.Wait()
	i.handlers.stop()
}

// repeat calls a function at an interval until ctx ends.
func repeat(ctx context.Context, interval time.Duration, do func()) {
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

// applyChunk is the number of objects that are applied before the cache is unlocked for readers.
const applyChunk = 256

// process applies a batch, which completes all changes up to a revision, to the cache and the handlers.
func (i *Informer[T]) process(batch []*pending[T], upTo object.Revision) {
	i.reader.decodeBatch(batch)
	i.mu.Lock()
	defer i.mu.Unlock()
	for chunk := range slices.Chunk(batch, applyChunk) {
		i.updater.apply(chunk)
		i.handlers.notify(i.updater.notices)
		i.updater.clearNotices()
	}
	if len(batch) > 0 && len(i.handlers.listeners) > 0 {
		i.handlers.scheduleCheck()
	}
	i.updater.progress.advance(upTo)
}

// AddHandler adds a handler. The informer calls it for the cached objects first, and then for all later changes, in a
// goroutine of its own, while Run runs and until the handler is removed. AddHandler does not block, and may be called
// at any time, also by a handler.
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
	var notices []notice[T]
	for _, s := range i.indexer.snapshot() {
		notices = append(notices, notice[T]{kind: noticeSync, new: s})
	}
	l.enqueue(notices)
}
