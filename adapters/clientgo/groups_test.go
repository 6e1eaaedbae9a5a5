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

// recordingSource is an empty source that records the requests of informers.
type recordingSource struct {
	mu        sync.Mutex
	requested map[schema.GroupVersionResource]client.Options
}

func (s *recordingSource) List(_ context.Context, resource schema.GroupVersionResource,
	options client.Options) (client.List, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requested == nil {
		s.requested = map[schema.GroupVersionResource]client.Options{}
	}
	s.requested[resource] = options
	return client.List{Revision: 1}, nil
}

func (s *recordingSource) Watch(ctx context.Context, _ schema.GroupVersionResource,
	_ client.Options) (client.Watch, error) {
	return silentWatch{ctx}, nil
}

type silentWatch struct{ ctx context.Context }

func (s silentWatch) Next(ctx context.Context) ([]client.Event, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s silentWatch) Stop() {}

// TestBuiltInInformersAreReplaced calls every informer of a factory, and compares with client-go's own factory which
// resource each is of, and whether a namespace narrows it.
func TestBuiltInInformersAreReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &recordingSource{}
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
		for resource, options := range source.requested {
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
		if len(source.requested) != len(namespaced) || wide != wantWide || wide == 0 {
			t.Errorf("%d informers, %d of them without namespaces, ask for %d resources, %d of them in all namespaces",
				len(namespaced), wantWide, len(source.requested), wide)
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
