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
	"github.com/bowline-dev/bowline/object"
)

// Factory shares informers: whoever asks for the same resource, as the same type, gets the same informer. Run runs them
// all, those that are asked for later too.
type Factory struct {
	source  client.Source
	options FactoryOptions

	mu        sync.Mutex
	informers map[identity]runner
	running   context.Context // nil while Run is not running
	active    sync.WaitGroup
}

// FactoryOptions hold for all informers of a factory; their meaning is that of Options.
type FactoryOptions struct {
	Resync, Relist time.Duration
	// Lazy and Transform are Options', Transform for objects of any type, which it must not change.
	Lazy      bool
	Transform func(client.Object) (client.Object, error)
	Mutations *Mutations
	Log       *slog.Logger
}

// identity is what makes two users' informers the same.
type identity struct {
	resource                  schema.GroupVersionResource
	goType                    reflect.Type
	namespace, labels, fields string
}

// Scope narrows what an informer holds. The zero value is everything.
type Scope struct {
	// Namespace is empty for all.
	Namespace string
	// Labels and Fields are nil for everything.
	Labels labels.Selector
	Fields fields.Selector
}

// runner is an Informer of any type.
type runner interface {
	Run(ctx context.Context)
	Synced() <-chan struct{}
	Reached(ctx context.Context, key Key, revision object.Revision) error
}

// NewFactory makes a factory of informers on a source.
func NewFactory(source client.Source, options FactoryOptions) *Factory {
	return &Factory{source: source, options: options, informers: map[identity]runner{}}
}

// For is the informer of the objects of a resource as T: of all of them, or of those of a scope; of several scopes, the last
// counts.
func For[T client.Object](f *Factory, resource schema.GroupVersionResource, scopes ...Scope) *Informer[T] {
	var scope Scope
	if len(scopes) > 0 {
		scope = scopes[len(scopes)-1]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	id := identity{resource: resource, goType: reflect.TypeFor[T](), namespace: scope.Namespace}
	if scope.Labels != nil {
		id.labels = scope.Labels.String()
	}
	if scope.Fields != nil {
		id.fields = scope.Fields.String()
	}
	if shared, ok := f.informers[id]; ok {
		return shared.(*Informer[T])
	}
	i := New(f.source, resource, Options[T]{
		Namespace: scope.Namespace,
		Labels:    scope.Labels,
		Fields:    scope.Fields,
		Resync:    f.options.Resync,
		Relist:    f.options.Relist,
		Lazy:      f.options.Lazy,
		Mutations: f.options.Mutations,
		Log:       f.options.Log,
	})
	f.informers[id] = i
	if f.running != nil {
		f.start(i)
	}
	return i
}

// WaitForSync waits until every informer that was asked for by now has filled its cache. An error names those that have not
// when ctx ends.
func (f *Factory) WaitForSync(ctx context.Context) error {
	var missing []string
	for id, i := range f.all() {
		select {
		case <-i.Synced():
		case <-ctx.Done():
			missing = append(missing, id.resource.GroupResource().String())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("the caches of %s have not been filled: %w", strings.Join(slices.Compact(missing), ", "), ctx.Err())
}

// Reached waits for the informers of a resource, in whatever version, that hold the namespace of an object, as
// Informer.Reached does.
func (f *Factory) Reached(ctx context.Context, resource schema.GroupResource, key Key, revision object.Revision) error {
	for id, i := range f.all() {
		if id.resource.GroupResource() != resource || id.namespace != "" && id.namespace != key.Namespace {
			continue
		}
		if err := i.Reached(ctx, key, revision); err != nil {
			return err
		}
	}
	return nil
}

// all are the informers that there are now.
func (f *Factory) all() map[identity]runner {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.informers)
}

// Run runs all informers until ctx ends and returns when they have ended. It must be called once at most.
func (f *Factory) Run(ctx context.Context) {
	f.mu.Lock()
	f.running = ctx
	for _, i := range f.informers {
		f.start(i)
	}
	f.mu.Unlock()
	<-ctx.Done()
	f.mu.Lock()
	f.running = nil
	f.mu.Unlock()
	f.active.Wait()
}

// start gives an informer its goroutine. The lock is held.
func (f *Factory) start(i runner) {
	ctx := f.running
	f.active.Go(func() { i.Run(ctx) })
}
