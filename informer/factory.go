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

// Factory shares informers: whoever asks for the same scope of the same resource, as the same type, gets the same informer,
// and with it one watch and one cache. Run runs them all, those that are asked for later too. A Factory is a
// prometheus.Collector of how they are.
type Factory struct {
	source  client.Source
	options FactoryOptions

	mu        sync.Mutex
	informers map[identity]runner
	ends      map[identity]context.CancelFunc // of those that run
	running   context.Context                 // nil while Run is not running
	active    sync.WaitGroup
}

// FactoryOptions hold for all informers of a factory; their meaning is that of Options.
type FactoryOptions struct {
	// Server is where the source's objects are, as client.Client's Server says it; empty for unknown. See Factory.Shows.
	Server         string
	Resync, Relist time.Duration
	Lazy           bool
	Uninitialized  bool
	// Transform is Options' for objects of all types. What it returns must be of the type of what it was given.
	Transform func(client.Object) (client.Object, error)
	Mutations *Mutations
	Log       *slog.Logger
}

// Scope narrows what an informer holds. The zero value is everything.
type Scope struct {
	// Namespace is empty for all.
	Namespace string
	// Labels and Fields are nil for everything.
	Labels labels.Selector
	Fields fields.Selector
}

// identity is what makes two users' informers the same.
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

// covers says whether objects of a namespace may be in the scope.
func (id identity) covers(resource schema.GroupResource, namespace string) bool {
	return id.resource.GroupResource() == resource && (id.namespace == "" || id.namespace == namespace)
}

// selects says whether the scope leaves out objects of its namespace.
func (id identity) selects() bool { return id.labels != "" || id.fields != "" }

// runner is an Informer of any type.
type runner interface {
	Run(ctx context.Context)
	Synced() <-chan struct{}
	showsWrite(ctx context.Context, w client.Write) error
	ailment() error
	measure() measures
}

// NewFactory makes a factory of informers on a source.
func NewFactory(source client.Source, options FactoryOptions) *Factory {
	return &Factory{source: source, options: options, informers: map[identity]runner{}, ends: map[identity]context.CancelFunc{}}
}

// For is the informer of the objects of a resource as T: of all of them, or of those in a scope; of several scopes the last
// counts. As *unstructured.Unstructured, objects of any kind can be had; as *metav1.PartialObjectMetadata, the server is
// asked for their metadata alone.
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

// Drop ends the informer of a resource as T, and forgets it, as when the resource is not served any more: who asks For it again gets
// another one. Whoever drops an informer must be the only one who uses it. Without one there is nothing to do.
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
			as, ok := changed.(T)
			if !ok {
				return obj, fmt.Errorf("it became a %T, not a %T", changed, obj)
			}
			return as, nil
		}
	}
	return options
}

// WaitForSync waits until every informer that was asked for by now has filled its cache. An error names those that have not
// when ctx ends, and why.
func (f *Factory) WaitForSync(ctx context.Context) error {
	var missing []string
	for id, i := range f.all() {
		select {
		case <-i.Synced():
			continue // even when ctx has ended: who asks so wants to know how it is now
		default:
		}
		select {
		case <-i.Synced():
		case <-ctx.Done():
			reason := ""
			if err := i.ailment(); err != nil {
				reason = fmt.Sprintf(" (%v)", err)
			}
			missing = append(missing, id.resource.GroupResource().String()+reason)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("waiting for caches to fill with %s: %w", strings.Join(slices.Compact(missing), ", "), ctx.Err())
}

// all are the informers that there are now.
func (f *Factory) all() map[identity]runner {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.informers)
}

// covering are the informers that there are now of a resource in a namespace.
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

// Run runs all informers until ctx ends and returns when they have ended. It must be called once at most.
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

// start gives an informer its goroutine. The lock is held.
func (f *Factory) start(id identity, i runner) {
	ctx, end := context.WithCancel(f.running)
	f.ends[id] = end
	f.active.Go(func() {
		defer end()
		i.Run(ctx)
	})
}
