package informer

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
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
	Mutations      *Mutations
	Log            *slog.Logger
}

// identity is what makes two users' informers the same.
type identity struct {
	resource schema.GroupVersionResource
	goType   reflect.Type
}

// runner is an Informer of any type.
type runner interface {
	Run(ctx context.Context)
}

// NewFactory makes a factory of informers on a source.
func NewFactory(source client.Source, options FactoryOptions) *Factory {
	return &Factory{source: source, options: options, informers: map[identity]runner{}}
}

// For is the informer of all objects of a resource as T.
func For[T client.Object](f *Factory, resource schema.GroupVersionResource) *Informer[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := identity{resource, reflect.TypeFor[T]()}
	if shared, ok := f.informers[id]; ok {
		return shared.(*Informer[T])
	}
	i := New(f.source, resource, Options[T]{
		Resync:    f.options.Resync,
		Relist:    f.options.Relist,
		Mutations: f.options.Mutations,
		Log:       f.options.Log,
	})
	f.informers[id] = i
	if f.running != nil {
		f.start(i)
	}
	return i
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
