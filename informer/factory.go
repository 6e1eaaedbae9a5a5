package informer

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// Factory shares informers: calls of For with the same resource, Go type and scope return the same informer, with one
// watch and one cache. Run runs all of them, including those requested later. A Factory is a
// prometheus.Collector of their metrics and safe for concurrent use.
type Factory struct {
	source  client.Source
	options FactoryOptions

	mu        sync.Mutex
	informers map[identity]runner
	ends      map[identity]context.CancelFunc // of the running ones
	running   context.Context                 // nil unless Run is running
	active    sync.WaitGroup
}

// FactoryOptions applies to all informers of a factory. Fields without a comment have the meaning that they have in
// Options.
type FactoryOptions struct {
	// Server identifies the source's server, as client.Client.Server does; empty means unknown. WaitForWrite ignores
	// writes to another server.
	Server         string
	Resync, Relist time.Duration
	Lazy           bool
	Uninitialized  bool
	// Transform is Options.Transform for objects of all types. The returned object must have the type of the
	// argument.
	Transform func(client.Object) (client.Object, error)
	Mutations *Mutations
	Log       *slog.Logger
}

// Scope selects the objects of an informer. The zero value selects all.
type Scope struct {
	// Namespace is empty for all namespaces.
	Namespace string
	// Labels and Fields are selectors; nil selects all.
	Labels labels.Selector
	Fields fields.Selector
}

// identity is the key by which informers are shared.
type identity struct {
	resource                  schema.GroupVersionResource
	goType                    reflect.Type
	namespace, labels, fields string
}

func identityOf[T client.Object](resource schema.GroupVersionResource, scope Scope) identity {
	id := identity{resource: resource, goType: reflect.TypeFor[T](), namespace: scope.Namespace}
	if scope.Labels != nil {
		id.labels = scope.Labels.String()
	}
	if scope.Fields != nil {
		id.fields = scope.Fields.String()
	}
	return id
}

// covers reports whether the scope includes objects of a namespace.
func (id identity) covers(resource schema.GroupResource, namespace string) bool {
	return id.resource.GroupResource() == resource && (id.namespace == "" || id.namespace == namespace)
}

// selects reports whether the scope has a label or field selector.
func (id identity) selects() bool { return id.labels != "" || id.fields != "" }

// runner is an Informer of any type.
type runner interface {
	Run(ctx context.Context)
	Synced() <-chan struct{}
	waitForWrite(ctx context.Context, w client.Write) error
	lastError() error
	measure() informerMetrics
}

// NewFactory returns a factory of informers that read from source.
func NewFactory(source client.Source, options FactoryOptions) *Factory {
	return &Factory{source: source, options: options, informers: map[identity]runner{},
		ends: map[identity]context.CancelFunc{}}
}

// For returns the factory's informer of the objects of a resource as T, and creates it if needed. The scope is
// optional; there may be at most one. T may be *unstructured.Unstructured for any resource; for
// *metav1.PartialObjectMetadata, the informer requests only the metadata from the server. If Run is running, For starts
// the informer.
func For[T client.Object](f *Factory, resource schema.GroupVersionResource, scopes ...Scope) *Informer[T] {
	var scope Scope
	if len(scopes) > 0 {
		scope = scopes[len(scopes)-1]
	}
	id := identityOf[T](resource, scope)
	f.mu.Lock()
	defer f.mu.Unlock()
	if shared, ok := f.informers[id]; ok {
		return shared.(*Informer[T])
	}
	i := New(f.source, resource, optionsFor[T](f.options, scope))
	f.informers[id] = i
	if f.running != nil {
		f.start(id, i)
	}
	return i
}

// Drop stops the informer of a resource as T and removes it from the factory, for example when the resource is no
// longer served. The next For creates another one. The caller must be its only user. Drop does not wait until the
// informer has stopped. It does nothing if the factory does not have the informer.
func Drop[T client.Object](f *Factory, resource schema.GroupVersionResource, scopes ...Scope) {
	var scope Scope
	if len(scopes) > 0 {
		scope = scopes[len(scopes)-1]
	}
	id := identityOf[T](resource, scope)
	f.mu.Lock()
	defer f.mu.Unlock()
	if end := f.ends[id]; end != nil {
		end()
	}
	delete(f.ends, id)
	delete(f.informers, id)
}

func optionsFor[T client.Object](shared FactoryOptions, scope Scope) Options[T] {
	options := Options[T]{
		Namespace: scope.Namespace,
		Labels:    scope.Labels,
		Fields:    scope.Fields,
		Resync:    shared.Resync,
		Relist:    shared.Relist,
		Lazy:      shared.Lazy,
		Mutations: shared.Mutations,
		Log:       shared.Log,
	}
	options.Uninitialized = shared.Uninitialized
	if shared.Transform != nil {
		options.Transform = func(obj T) (T, error) {
			changed, err := shared.Transform(obj)
			if err != nil {
				return obj, err
			}
			result, ok := changed.(T)
			if !ok {
				return obj, fmt.Errorf("FactoryOptions.Transform returned a %T, must return a %T", changed, obj)
			}
			return result, nil
		}
	}
	return options
}

// WaitForSync waits until the cache of every informer requested so far is synced. If ctx ends first, the error
// names the resources whose caches are not, with the reason if known.
func (f *Factory) WaitForSync(ctx context.Context) error {
	var missing []string
	for id, i := range f.all() {
		select {
		case <-i.Synced():
			continue // even if ctx has ended, so that callers can poll
		default:
		}
		select {
		case <-i.Synced():
		case <-ctx.Done():
			reason := ""
			if err := i.lastError(); err != nil {
				reason = fmt.Sprintf(" (%v)", err)
			}
			missing = append(missing, id.resource.GroupResource().String()+reason)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	resources := strings.Join(slices.Compact(missing), ", ")
	return fmt.Errorf("waiting for the caches of %s to sync: %w", resources, ctx.Err())
}

// all returns the current informers.
func (f *Factory) all() map[identity]runner {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.informers)
}

// covering returns the current informers of a resource whose scope includes a namespace.
func (f *Factory) covering(resource schema.GroupResource, namespace string) (found []runner) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, i := range f.informers {
		if id.covers(resource, namespace) {
			found = append(found, i)
		}
	}
	return found
}

// Run runs all informers until ctx ends, and returns when they have stopped; see Informer.Run. It must be called at
// most once.
func (f *Factory) Run(ctx context.Context) {
	f.mu.Lock()
	f.running = ctx
	for id, i := range f.informers {
		f.start(id, i)
	}
	f.mu.Unlock()
	<-ctx.Done()
	f.mu.Lock()
	f.running = nil
	f.mu.Unlock()
	f.active.Wait()
}

// start runs an informer. The caller holds the lock.
func (f *Factory) start(id identity, i runner) {
	ctx, end := context.WithCancel(f.running)
	f.ends[id] = end
	f.active.Go(func() {
		defer end()
		i.Run(ctx)
	})
}
