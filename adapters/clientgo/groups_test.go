package clientgo_test

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"

	"github.com/bowline-dev/bowline/adapters/clientgo"
	"github.com/bowline-dev/bowline/client"
)

// asked is a source that notes what informers ask it for, and has nothing.
type asked struct {
	mu   sync.Mutex
	what map[schema.GroupVersionResource]client.Options
}

func (s *asked) List(_ context.Context, resource schema.GroupVersionResource,
	options client.Options) (client.List, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.what == nil {
		s.what = map[schema.GroupVersionResource]client.Options{}
	}
	s.what[resource] = options
	return client.List{Revision: 1}, nil
}

func (s *asked) Watch(ctx context.Context, _ schema.GroupVersionResource, _ client.Options) (client.Watch, error) {
	return silence{ctx}, nil
}

type silence struct{ ctx context.Context }

func (s silence) Next(ctx context.Context) ([]client.Event, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s silence) Stop() {}

// TestBuiltInInformersAreReplaced calls every informer of a factory, and compares with client-go's own factory which
// resource each is of, and whether a namespace narrows it.
func TestBuiltInInformersAreReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &asked{}
		f := must(clientgo.NewSharedInformerFactoryWithOptions(source, clientgo.FactoryOptions{Namespace: "shop"}))(t)
		namespaced := map[reflect.Type]bool{} // of its informer
		eachInformer(f, func(i reflect.Value) {
			i.MethodByName("Informer").Call(nil)
			lister := i.MethodByName("Lister").Call(nil)[0].Type()
			for m := range lister.NumMethod() {
				if method := lister.Method(m).Type; method.NumIn() == 1 && method.In(0).Kind() == reflect.String &&
					method.NumOut() == 1 {
					namespaced[i.Type()] = true
				}
			}
			namespaced[i.Type()] = namespaced[i.Type()]
		})
		ctx, cancel := context.WithCancel(t.Context())
		f.StartWithContext(ctx)
		if err := f.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
			t.Error(err)
		}
		cancel()
		f.Shutdown()

		wide := 0
		for resource, options := range source.what {
			if _, err := informers.NewSharedInformerFactory(nil, 0).ForResource(resource); err != nil {
				t.Errorf("an informer asks for %s: %v", resource, err)
			}
			if options.Namespace == "" {
				wide++
			}
		}
		wantWide := 0
		for _, is := range namespaced {
			if !is {
				wantWide++
			}
		}
		if len(source.what) != len(namespaced) || wide != wantWide || wide == 0 {
			t.Errorf("%d informers, %d of them without namespaces, ask for %d resources, %d of them in all namespaces",
				len(namespaced), wantWide, len(source.what), wide)
		}
	})
}

// eachInformer calls f with what each method of each version of each group of a factory returns.
func eachInformer(factory informers.SharedInformerFactory, f func(reflect.Value)) {
	noArguments := func(v reflect.Value) (results []reflect.Value) {
		for m := range v.NumMethod() {
			if method := v.Method(m); method.Type().NumIn() == 0 && method.Type().NumOut() == 1 &&
				method.Type().Out(0).Kind() == reflect.Interface {
				results = append(results, method.Call(nil)[0].Elem())
			}
		}
		return results
	}
	for _, group := range noArguments(reflect.ValueOf(&factory).Elem()) {
		for _, version := range noArguments(group) {
			for _, i := range noArguments(version) {
				if i.MethodByName("Lister").IsValid() {
					f(i)
				}
			}
		}
	}
}
