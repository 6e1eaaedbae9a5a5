package clientgo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

// Options configure an informer. The zero value selects all objects in all namespaces, without resyncs.
type Options struct {
	// Namespace, Labels and Fields select the objects of the cache; the zero values select all.
	Namespace string
	Labels    labels.Selector
	Fields    fields.Selector
	// Resync is the interval at which a handler without an interval of its own receives every object again; 0 means
	// never.
	Resync time.Duration
	// Indexers are the initial indexers of the cache. cache.NamespaceIndex works without being listed.
	Indexers cache.Indexers
	// Lazy stores objects as encoded by the source and decodes each when it is read. That halves the memory if few
	// objects are read.
	Lazy bool
	// Mutations detects, in tests, changes of cached objects; nil disables detection. See informer.DetectMutations.
	Mutations *informer.Mutations
	// Log is nil for klog's logger, which client-go's informers use.
	Log *slog.Logger
}

// New returns an informer of a resource, which is not shared with a factory; the caller runs it. The objects are of
// the Go type of example: a pointer to a typed API struct, *unstructured.Unstructured, or
// *metav1.PartialObjectMetadata. It is safe for concurrent use.
func New(source client.Source, resource schema.GroupVersionResource, example runtime.Object,
	options Options) cache.SharedIndexInformer {
	if options.Log == nil {
		options.Log = slog.New(logr.ToSlogHandler(klog.Background()))
	}
	d := newDecoder(resource.GroupVersion(), example)
	d.unshared = options.Mutations != nil
	s := &reporting{Source: source, resource: resource, narrow: d.narrow}
	i := adapt(informer.New(s, resource, informer.Options[client.Object]{
		Namespace: options.Namespace, Labels: options.Labels, Fields: options.Fields,
		Decode: d.decode, Lazy: options.Lazy,
		Mutations: options.Mutations, Log: options.Log,
	}), resource)
	i.source, i.decoder, i.resync = s, d, options.Resync
	s.failed = i.failed
	if err := i.store.AddIndexers(options.Indexers); err != nil {
		panic(err) // unreachable: a new store has no indexers
	}
	return i
}

// Informer returns the informer of a factory for a resource as a client-go informer. Callers of the factory share
// it, and the factory runs it: Run only waits until its context ends. A transform, or a handler of watch errors,
// cannot be set on it. It is safe for concurrent use.
func Informer[T client.Object](f *informer.Factory, resource schema.GroupVersionResource) cache.SharedIndexInformer {
	return adapt(informer.For[T](f, resource), resource)
}

// sharedInformer implements cache.SharedIndexInformer.
type sharedInformer[T client.Object] struct {
	informer *informer.Informer[T]
	store    *store[T]
	resync   time.Duration
	// source and decoder are nil when a factory owns the informer.
	source  *reporting
	decoder *decoder

	mu         sync.Mutex
	running    context.Context // the context of Run; nil before
	watchError cache.WatchErrorHandlerWithContext
	handlers   map[*registration[T]]struct{}
	resyncs    sync.WaitGroup
}

var _ cache.SharedIndexInformer = &sharedInformer[client.Object]{}

func adapt[T client.Object](i *informer.Informer[T], resource schema.GroupVersionResource) *sharedInformer[T] {
	s := &sharedInformer[T]{informer: i, handlers: map[*registration[T]]struct{}{}}
	s.store = newStore(resource, i.Indexer(), s.LastSyncResourceVersion)
	return s
}

// GetStore returns the cache, which is read-only.
func (i *sharedInformer[T]) GetStore() cache.Store { return i.store }

// GetIndexer returns the cache, which is read-only.
func (i *sharedInformer[T]) GetIndexer() cache.Indexer { return i.store }

// AddIndexers adds indexes, at any time before the informer has stopped.
func (i *sharedInformer[T]) AddIndexers(indexers cache.Indexers) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stopped() {
		return fmt.Errorf("%s: the indexer was not added because it has stopped already",
			i.store.resource.GroupResource())
	}
	return i.store.AddIndexers(indexers)
}

// Run calls RunWithContext with a context that ends when the channel is closed.
func (i *sharedInformer[T]) Run(stop <-chan struct{}) { i.RunWithContext(wait.ContextForChannel(stop)) }

// RunWithContext runs the informer until ctx ends, and returns when its goroutines have ended. A second call has no
// effect.
func (i *sharedInformer[T]) RunWithContext(ctx context.Context) {
	if !i.start(ctx) {
		return
	}
	if i.source != nil {
		i.informer.Run(ctx)
	} else {
		<-ctx.Done()
	}
	i.resyncs.Wait()
}

// start marks the informer as running. It returns false if it was started before.
func (i *sharedInformer[T]) start(ctx context.Context) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running != nil {
		return false
	}
	i.running = ctx
	for r := range i.handlers {
		i.resyncRegularly(r)
	}
	return true
}

// HasSynced reports whether the cache holds all objects of the first list.
func (i *sharedInformer[T]) HasSynced() bool { return cache.IsDone(i) }

// HasSyncedChecker returns HasSynced as a channel to wait for.
func (i *sharedInformer[T]) HasSyncedChecker() cache.DoneChecker { return i }

// Name implements cache.DoneChecker.
func (i *sharedInformer[T]) Name() string {
	return "informer of " + i.store.resource.GroupResource().String()
}

// Done implements cache.DoneChecker.
func (i *sharedInformer[T]) Done() <-chan struct{} { return i.informer.Synced() }

// LastSyncResourceVersion returns the revision up to which the cache is complete; empty before the first list.
func (i *sharedInformer[T]) LastSyncResourceVersion() string {
	if revision := i.informer.Revision(); revision > 0 {
		return revision.String()
	}
	return ""
}

// IsStopped reports whether the informer was stopped, even if a handler has not returned yet.
func (i *sharedInformer[T]) IsStopped() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stopped()
}

// stopped is like IsStopped. The caller holds the lock.
func (i *sharedInformer[T]) stopped() bool { return i.running != nil && i.running.Err() != nil }

// SetTransform sets a function that changes each object before it is cached. It must be called before Run.
func (i *sharedInformer[T]) SetTransform(transform cache.TransformFunc) error {
	return i.configure(func() { i.decoder.transform = transform })
}

// SetWatchErrorHandler sets a function that is called for each failed list or watch. It must be called before Run.
func (i *sharedInformer[T]) SetWatchErrorHandler(handler cache.WatchErrorHandler) error {
	return i.SetWatchErrorHandlerWithContext(func(_ context.Context, r *cache.Reflector, err error) { handler(r, err) })
}

// SetWatchErrorHandlerWithContext is like SetWatchErrorHandler, and passes the context of the failed call. The
// reflector that a handler receives has a name and no other function.
func (i *sharedInformer[T]) SetWatchErrorHandlerWithContext(handler cache.WatchErrorHandlerWithContext) error {
	return i.configure(func() { i.watchError = handler })
}

var errShared = errors.New("the informer is shared by all users of its factory and cannot be configured by one of them")

// configure calls change, unless the informer has started or belongs to a factory.
func (i *sharedInformer[T]) configure(change func()) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.source == nil:
		return errShared
	case i.running != nil:
		return fmt.Errorf("%s: the informer has already started", i.store.resource.GroupResource())
	}
	change()
	return nil
}

// failed passes an error of a list or watch to the handler of errors.
func (i *sharedInformer[T]) failed(ctx context.Context, err error) {
	i.mu.Lock()
	handler := i.watchError
	i.mu.Unlock()
	if handler != nil {
		handler(ctx, i.reflector(), err)
	}
}

// reflector returns a reflector from which client-go's error handlers read the name.
func (i *sharedInformer[T]) reflector() *cache.Reflector {
	return cache.NewReflectorWithOptions(&cache.ListWatch{}, nil, nil, cache.ReflectorOptions{
		Name: i.Name(), TypeDescription: i.store.resource.GroupResource().String(),
	})
}

// GetController returns a deprecated view of the informer, whose Run does nothing.
func (i *sharedInformer[T]) GetController() cache.Controller { return controller{i} }

type controller struct{ cache.SharedInformer }

func (controller) Run(<-chan struct{}) {}

func (controller) RunWithContext(context.Context) {}
