// Package informer keeps a local copy of a resource's objects and tells handlers what happens to them. Its parts, in
// the order in which an event passes them:
//
//	reflector    lists, then watches, and survives whatever goes wrong with that
//	delta FIFO   what happened, in order, collapsed per object
//	indexer      the cache: by key, and by the values of named indexes
//	handlers     any number, each told everything, in order, on a goroutine of its own, from a backlog of its own
//
// One informer is one watch and one cache for all who use it; a Factory shares informers among controllers. Where the
// source is in the server's own process, cached objects are the server's own. Objects share what is equal in them, the
// containers of a Deployment's Pods, say: over the wire those of a list. They are immutable; DetectMutations makes a test fail
// that changes one, which then shares nothing, and names the field and, where it can, the handler.
//
// What is held is bounded by the objects, never by what happens to them. A lazy informer (Options.Lazy) holds them
// undecoded, and answers questions about names, labels and owners as they are; a Transform, or a Go type with the fields that
// are used, holds less of each.
//
// Controllers read the cache through an Indexer or a Lister, and write through package client. The package knows
// neither the server nor the wire: client.Source hides which one it has.
package informer

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// Uninitialized has the cache hold objects that initializers have still to act on, too: see client.Options.
	Uninitialized bool

	// Indexes are those that the cache begins with.
	Indexes map[string]IndexFunc[T]

	// Resync is how often every cached object is passed to the handlers again, so that they look after what no event
	// tells of; 0 for never.
	Resync time.Duration

	// Relist is how often the list is read anew although the watch goes on, to heal what a faulty server or connection
	// has lost; 0 for never, since a watch that keeps its promises loses nothing.
	Relist time.Duration

	// Decode makes a T of what the source yields where T alone does not say how, as an interface does not. Objects that o
	// shares must not be changed. nil reads what New tells of. Goroutines that read a lazy informer call it at once. It must
	// not use the informer's own cache: see Transform.
	Decode func(by object.Codec, o *object.Object) (T, error)

	// Transform changes each object before it is cached and told of, so as to keep less of it, say; nil takes objects as they
	// are. It may change its argument, which is nobody else's, and return it, or another object of the same name. An error
	// stands for an object that cannot be read. It may be called by several goroutines at once. It must not use the informer's
	// own cache, nor a lister of it: an index of a lazy informer calls it while the cache is locked, which would stop the
	// informer for ever.
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
	reader   *reader[T]
	detect   *Mutations
	log      *slog.Logger
	synced   chan struct{}

	// mu keeps what handlers are told in step with the cache: a handler that comes late gets what is there, and then
	// what happens.
	mu        sync.Mutex
	listeners []*listener[T]
	alive     map[*listener[T]]struct{} // those whose goroutine has not ended, removed ones too
	filled    bool
	news      []notice[T] // that the batch which is processed has for the handlers so far
	progress  progress
	watched   *time.Timer // fires reportOverdue
	watching  bool
	running   context.Context // of the handlers' goroutines; nil while Run is not running
}

// New makes an informer of a resource that source serves. T may be the type that the source's objects decode to, which
// are then shared; else, a pointer to any struct that their JSON can be read into, and then each object is read once.
func New[T client.Object](source client.Source, resource schema.GroupVersionResource, options Options[T]) *Informer[T] {
	log := options.Log
	if log == nil {
		log = slog.Default()
	}
	log = log.With("resource", resource.GroupResource().String())
	i := &Informer[T]{
		resource: resource,
		resync:   options.Resync,
		indexer:  newIndexer(options.Indexes, log),
		reader:   newReader(resource.GroupVersion(), options, log),
		detect:   options.Mutations,
		log:      log,
		synced:   make(chan struct{}),
		alive:    map[*listener[T]]struct{}{},
	}
	i.indexer.resource = resource.GroupResource()
	i.fifo = newDeltaFIFO(i.indexer)
	i.reflect = &reflector[T]{
		reader:   i.reader,
		source:   source,
		resource: resource,
		options: client.Options{
			Namespace: options.Namespace, Labels: options.Labels, Fields: options.Fields, Uninitialized: options.Uninitialized,
			MetadataOnly: onlyMetadata[T](), Protobuf: options.Decode == nil && client.ReadsProtobuf[T](), New: newObject(options),
		},
		relist: options.Relist,
		fifo:   i.fifo,
		log:    log,
	}
	return i
}

// newObject makes an empty T for the source to read an object into, unless the informer is to have the object's bytes. Such
// objects share what is equal in them: a Transform may change what it is given, and who changed one could not be told.
func newObject[T client.Object](options Options[T]) func() client.Object {
	if options.Lazy || options.Decode != nil || options.Transform != nil || options.Mutations != nil || !client.ReadsProtobuf[T]() {
		return nil
	}
	t := reflect.TypeFor[T]().Elem()
	return func() client.Object { return reflect.New(t).Interface().(client.Object) }
}

// onlyMetadata says that T is what a server sends to those who want no more than metadata.
func onlyMetadata[T client.Object]() bool {
	_, is := any(*new(T)).(*metav1.PartialObjectMetadata)
	return is
}

// Resource is what the informer keeps the objects of.
func (i *Informer[T]) Resource() schema.GroupVersionResource { return i.resource }

// Indexer is the cache.
func (i *Informer[T]) Indexer() *Indexer[T] { return i.indexer }

// Lister reads the cache.
func (i *Informer[T]) Lister() Lister[T] { return Lister[T]{i.indexer} }

// Synced is closed when the cache holds all that there was when the informer first listed.
func (i *Informer[T]) Synced() <-chan struct{} { return i.synced }

// ailment is why the informer cannot list or watch, or nil.
func (i *Informer[T]) ailment() error { return i.reflect.ailing.get() }

// Run lists and watches until ctx ends, and returns when every goroutine that it started has ended. Only a handler that
// does not return holds it up no longer than a few seconds: Run logs its name and leaves its goroutine to it, which ends when
// the handler returns. Run must be called once at most.
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
		parts.Go(func() { every(ctx, i.resync, i.fifo.resync) })
	}
	parts.Wait()
	i.awaitHandlers()
}

// every does something at regular times until ctx ends.
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
