package clientgo_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/adapters/clientgo"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

// asked is a source that notes what informers ask it for, and has nothing.
type asked struct {
	mu   sync.Mutex
	what map[schema.GroupVersionResource]client.Options
}

func (s *asked) List(_ context.Context, resource schema.GroupVersionResource, options client.Options) (client.List, error) {
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

// TestEveryBuiltInInformerIsOurs calls every informer of a factory, and compares with client-go's own factory which resource
// each is of, and whether a namespace narrows it.
func TestEveryBuiltInInformerIsOurs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &asked{}
		f := must(clientgo.NewSharedInformerFactoryWithOptions(source, clientgo.FactoryOptions{Namespace: "shop"}))(t)
		namespaced := map[reflect.Type]bool{} // of its informer
		eachInformer(f, func(i reflect.Value) {
			i.MethodByName("Informer").Call(nil)
			lister := i.MethodByName("Lister").Call(nil)[0].Type()
			for m := range lister.NumMethod() {
				if method := lister.Method(m).Type; method.NumIn() == 1 && method.In(0).Kind() == reflect.String && method.NumOut() == 1 {
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
			if method := v.Method(m); method.Type().NumIn() == 0 && method.Type().NumOut() == 1 && method.Type().Out(0).Kind() == reflect.Interface {
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

// plane runs a test with a plane in a bubble.
func plane(t *testing.T, f func(t *testing.T, p *bowline.Plane, clients kubernetes.Interface)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := must(bowline.Start(t.Context(), bowline.Options{Controllers: []string{}}))(t)
		defer p.Close()
		f(t, p, must(kubernetes.NewForConfig(p.RESTConfig()))(t))
	})
}

func TestAFactoryOfOursRunsAnOperatorWrittenForClientGo(t *testing.T) {
	t.Parallel()
	plane(t, func(t *testing.T, p *bowline.Plane, clients kubernetes.Interface) {
		f := clientgo.NewSharedInformerFactory(p.Source(), time.Minute)
		configMaps, generic := f.Core().V1().ConfigMaps(), must(f.ForResource(configMaps))(t)
		if generic.Informer() == nil || configMaps.Lister() == nil {
			t.Fatal("a factory has no informer")
		}
		ctx, cancel := context.WithCancel(t.Context())
		f.StartWithContext(ctx)
		if !f.WaitForCacheSync(ctx.Done())[reflect.TypeFor[*corev1.ConfigMap]()] {
			t.Error("the informer of ConfigMaps has not synced")
		}
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		must(clients.CoreV1().ConfigMaps("default").Create(ctx, made, metav1.CreateOptions{}))(t)
		synctest.Wait()
		if _, err := configMaps.Lister().ConfigMaps("default").Get("a"); err != nil {
			t.Error(err)
		}
		if _, err := generic.Lister().ByNamespace("default").Get("a"); err != nil {
			t.Error(err)
		}
		if _, err := configMaps.Lister().ConfigMaps("default").Get("b"); !apierrors.IsNotFound(err) {
			t.Errorf("the lister says %v of what is not there", err)
		}
		cancel()
		f.Shutdown()
	})
}

// TestOneOfOursTakesThePlaceOfOneInClientGosOwnFactory is what factories that were generated for custom resources do.
func TestOneOfOursTakesThePlaceOfOneInClientGosOwnFactory(t *testing.T) {
	t.Parallel()
	plane(t, func(t *testing.T, p *bowline.Plane, clients kubernetes.Interface) {
		f := informers.NewSharedInformerFactory(clients, 0)
		ours := f.InformerFor(&corev1.ConfigMap{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
			return clientgo.New(p.Source(), configMaps, &corev1.ConfigMap{}, clientgo.Options{})
		})
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		must(clients.CoreV1().ConfigMaps("default").Create(t.Context(), made, metav1.CreateOptions{}))(t)
		ctx, cancel := context.WithCancel(t.Context())
		f.StartWithContext(ctx)
		f.WaitForCacheSyncWithContext(ctx)
		if _, err := f.Core().V1().ConfigMaps().Lister().ConfigMaps("default").Get("a"); err != nil || !ours.HasSynced() {
			t.Errorf("the lister of client-go's factory does not read ours: %v", err)
		}
		cancel()
		f.Shutdown()
	})
}

// recorder is a test that fails without failing.
type recorder struct {
	testing.TB
	failed []string
	ends   []func()
}

func (r *recorder) Errorf(format string, arguments ...any) {
	r.failed = append(r.failed, fmt.Sprintf(format, arguments...))
}
func (r *recorder) Cleanup(f func()) { r.ends = append(r.ends, f) }
func (r *recorder) Helper()          {}

func TestWhoChangesACachedObjectIsNamed(t *testing.T) {
	t.Parallel()
	plane(t, func(t *testing.T, p *bowline.Plane, clients kubernetes.Interface) {
		recorder := &recorder{}
		f := must(clientgo.NewSharedInformerFactoryWithOptions(client.NewSource(must(client.New(p.RESTConfig()))(t)), clientgo.FactoryOptions{
			Mutations: informer.DetectMutations(recorder),
		}))(t)
		namespaces := f.Core().V1().Namespaces()
		namespaces.Informer()
		ctx, cancel := context.WithCancel(t.Context())
		f.StartWithContext(ctx)
		f.WaitForCacheSyncWithContext(ctx)
		must(namespaces.Lister().Get("default"))(t).Labels = map[string]string{"mine": "true"}
		cancel()
		f.Shutdown()
		for _, end := range recorder.ends {
			end()
		}
		if len(recorder.failed) != 1 || !strings.Contains(recorder.failed[0], "default") {
			t.Errorf("the test was told %q", recorder.failed)
		}
	})
}

func TestAFactoryRefusesSelectorsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	_, err := clientgo.NewSharedInformerFactoryWithOptions(&asked{}, clientgo.FactoryOptions{
		Tweak: func(o *metav1.ListOptions) { o.LabelSelector = "a in (" },
	})
	if err == nil {
		t.Error("a label selector that cannot be read is taken")
	}
}

// TestOneInformerServesOursAndClientGos shares one cache between a controller of ours and client-go's listers.
func TestOneInformerServesOursAndClientGos(t *testing.T) {
	t.Parallel()
	plane(t, func(t *testing.T, p *bowline.Plane, clients kubernetes.Interface) {
		f := informer.NewFactory(p.Source(), informer.FactoryOptions{})
		ours := informer.For[*corev1.ConfigMap](f, configMaps)
		theirs, again := clientgo.Informer[*corev1.ConfigMap](f, configMaps), clientgo.Informer[*corev1.ConfigMap](f, configMaps)
		byName := func(obj any) ([]string, error) { return []string{obj.(metav1.Object).GetName()}, nil }
		byKind := func(any) ([]string, error) { return []string{"ConfigMap"}, nil }
		for i, index := range map[cache.SharedIndexInformer]cache.IndexFunc{theirs: byName, again: byKind} {
			if err := i.AddIndexers(cache.Indexers{"mine": index}); err != nil {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { f.Run(ctx) })
		running.Go(func() { theirs.RunWithContext(ctx) })
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		must(clients.CoreV1().ConfigMaps("default").Create(ctx, made, metav1.CreateOptions{}))(t)
		synctest.Wait()
		mine, _ := ours.Indexer().Get(informer.Key{Namespace: "default", Name: "a"})
		yours, _, _ := theirs.GetStore().GetByKey("default/a")
		if mine != yours || !theirs.HasSynced() {
			t.Error("the object is not the same one")
		}
		named, _ := theirs.GetIndexer().ByIndex("mine", "a")
		kinds, _ := again.GetIndexer().ByIndex("mine", "ConfigMap")
		if len(named) != 1 || len(kinds) == 0 {
			t.Errorf("two indexes of one name find %d and %d objects", len(named), len(kinds))
		}
		if theirs.SetTransform(nil) == nil || theirs.SetWatchErrorHandler(nil) == nil {
			t.Error("one who shares an informer can change what it does")
		}
		cancel()
		running.Wait()
	})
}

func TestTheStoreCannotBeWrittenTo(t *testing.T) {
	t.Parallel()
	i := clientgo.New(&asked{}, configMaps, &corev1.ConfigMap{}, clientgo.Options{})
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	store := i.GetStore()
	for call, err := range map[string]error{
		"Add": store.Add(obj), "Update": store.Update(obj), "Delete": store.Delete(obj), "Replace": store.Replace([]any{obj}, "1"),
	} {
		if err == nil {
			t.Errorf("%s of an object did not fail", call)
		} else {
			t.Log(err)
		}
	}
	if store.List(); len(store.List()) != 0 {
		t.Error("the store has an object that the server has not")
	}
}

// TestListsAllocateForNoObject counts what a list by namespace and one by another index allocate, of a thousand objects.
func TestListsAllocateForNoObject(t *testing.T) {
	p := must(bowline.Start(t.Context(), bowline.Options{Controllers: []string{}}))(t)
	defer p.Close()
	clients := must(kubernetes.NewForConfig(p.RESTConfig()))(t)
	for n := range 1000 {
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", n)}, Data: map[string]string{"value": "all"}}
		must(clients.CoreV1().ConfigMaps("default").Create(t.Context(), made, metav1.CreateOptions{}))(t)
	}
	i := clientgo.New(p.Source(), configMaps, &corev1.ConfigMap{}, clientgo.Options{Namespace: "default", Indexers: byValue()})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { i.RunWithContext(ctx) })
	<-i.HasSyncedChecker().Done()
	for index, value := range map[string]string{cache.NamespaceIndex: "default", "value": "all"} {
		allocated := testing.AllocsPerRun(10, func() {
			if found, err := i.GetIndexer().ByIndex(index, value); err != nil || len(found) < 1000 {
				t.Fatalf("%d objects are found: %v", len(found), err)
			}
		})
		if allocated > 10 {
			t.Errorf("a list by %s allocates %v times", index, allocated)
		}
	}
	cancel()
	running.Wait()
}

// TestDynamicAndMetadataInformers take their type from the example.
func TestDynamicAndMetadataInformers(t *testing.T) {
	t.Parallel()
	plane(t, func(t *testing.T, p *bowline.Plane, clients kubernetes.Interface) {
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"color": "red"}}, Data: map[string]string{"k": "v"}}
		must(clients.CoreV1().ConfigMaps("default").Create(t.Context(), made, metav1.CreateOptions{}))(t)
		for _, source := range []client.Source{p.Source(), client.NewSource(must(client.New(p.RESTConfig()))(t))} {
			dynamic := clientgo.NewDynamicSharedInformerFactory(source, 0)
			metadata := clientgo.NewMetadataSharedInformerFactory(source, 0)
			listers := []cache.GenericLister{dynamic.ForResource(configMaps).Lister(), metadata.ForResource(configMaps).Lister()}
			stop := make(chan struct{})
			dynamic.Start(stop)
			metadata.Start(stop)
			dynamic.WaitForCacheSync(stop)
			metadata.WaitForCacheSync(stop)
			for _, lister := range listers {
				found := must(lister.ByNamespace("default").List(labels.SelectorFromSet(labels.Set{"color": "red"})))(t)
				if len(found) != 1 {
					t.Fatalf("%d objects are found by a label", len(found))
				}
				switch obj := found[0].(type) {
				case *unstructured.Unstructured:
					if v, _, _ := unstructured.NestedString(obj.Object, "data", "k"); v != "v" || obj.GetKind() != "ConfigMap" {
						t.Errorf("a dynamic informer has %v", obj)
					}
				case *metav1.PartialObjectMetadata:
					if obj.Name != "a" {
						t.Errorf("a metadata informer has %v", obj)
					}
				default:
					t.Errorf("an informer has a %T", obj)
				}
			}
			close(stop)
			dynamic.Shutdown()
			metadata.Shutdown()
		}
	})
}
