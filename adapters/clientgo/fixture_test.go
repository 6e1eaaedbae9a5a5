package clientgo_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/adapters/clientgo"
	_ "github.com/bowline-dev/bowline/bowlinetest" // has client-go's pauses after errors fit a bubble's time
	"github.com/bowline-dev/bowline/client"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// testPlane is a plane in a bubble, and one side's informers on it.
type testPlane struct {
	t       *testing.T
	plane   *bowline.Plane
	clients kubernetes.Interface
	faults  *faults // between the informers and the plane
	make    func(clientgo.Options) cache.SharedIndexInformer
}

// sides are who makes the informers that the same behaviours are asked of.
var sides = map[string]func(*testPlane) func(clientgo.Options) cache.SharedIndexInformer{
	"client-go": func(w *testPlane) func(clientgo.Options) cache.SharedIndexInformer {
		clients := must(kubernetes.NewForConfig(w.config()))(w.t)
		return func(o clientgo.Options) cache.SharedIndexInformer {
			narrow := func(list *metav1.ListOptions) {
				if o.Labels != nil {
					list.LabelSelector = o.Labels.String()
				}
				if o.Fields != nil {
					list.FieldSelector = o.Fields.String()
				}
			}
			lw := cache.NewFilteredListWatchFromClient(clients.CoreV1().RESTClient(), "configmaps", o.Namespace, narrow)
			return cache.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, o.Resync, o.Indexers)
		}
	},
	"ours, over the wire": func(w *testPlane) func(clientgo.Options) cache.SharedIndexInformer {
		source := client.NewSource(must(client.New(w.config()))(w.t))
		return func(o clientgo.Options) cache.SharedIndexInformer {
			return clientgo.New(source, configMaps, &corev1.ConfigMap{}, o)
		}
	},
	"ours, lazy": func(w *testPlane) func(clientgo.Options) cache.SharedIndexInformer {
		source := client.NewSource(must(client.New(w.config()))(w.t))
		return func(o clientgo.Options) cache.SharedIndexInformer {
			o.Lazy = true
			return clientgo.New(source, configMaps, &corev1.ConfigMap{}, o)
		}
	},
	"ours, in process": func(w *testPlane) func(clientgo.Options) cache.SharedIndexInformer {
		return func(o clientgo.Options) cache.SharedIndexInformer {
			return clientgo.New(w.faults.source(w.plane.Source()), configMaps, &corev1.ConfigMap{}, o)
		}
	},
}

// compare checks that a behaviour has the same result on every side, and not an empty one.
func compare(t *testing.T, behaviour func(*testPlane) []string) {
	t.Helper()
	outcomes := map[string]string{}
	for name := range sides {
		outcomes[name] = on(t, name, behaviour)
	}
	wanted := outcomes["client-go"]
	if wanted == "" {
		t.Error("client-go's informer did nothing")
	}
	for name, got := range outcomes {
		if got != wanted {
			t.Errorf("%s:\n%s\n\nclient-go:\n%s", name, got, wanted)
		}
	}
}

// on runs a behaviour on one side.
func on(t *testing.T, side string, behaviour func(*testPlane) []string) (outcome string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		plane := must(bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}}))(t)
		defer plane.Close()
		w := &testPlane{t: t, plane: plane, faults: &faults{}}
		w.clients = must(kubernetes.NewForConfig(plane.RESTConfig()))(t)
		w.make = sides[side](w)
		outcome = strings.Join(behaviour(w), "\n")
	})
	return outcome
}

// config reaches the plane through the world's faults.
func (w *testPlane) config() *rest.Config {
	config := w.plane.RESTConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return w.faults.wrap(next) })
	return config
}

// run runs an informer until the returned function is called, which waits for its end.
func (w *testPlane) run(i cache.SharedIndexInformer) (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	running.Go(func() { i.RunWithContext(ctx) })
	synctest.Wait()
	return func() {
		cancel()
		running.Wait()
	}
}

// set makes or changes a ConfigMap, given as namespace/name=value, and waits until everybody has heard of it.
func (w *testPlane) set(what string, labels ...string) *corev1.ConfigMap {
	w.t.Helper()
	key, value, _ := strings.Cut(what, "=")
	namespace, name, _ := strings.Cut(key, "/")
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Data: map[string]string{"value": value}}
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		configMap.Labels[key] = value
	}
	maps := w.clients.CoreV1().ConfigMaps(namespace)
	out, err := maps.Update(w.t.Context(), configMap, metav1.UpdateOptions{})
	if err != nil {
		out = must(maps.Create(w.t.Context(), configMap, metav1.CreateOptions{}))(w.t)
	}
	synctest.Wait()
	return out
}

// remove deletes a ConfigMap, given as namespace/name, and waits until everybody has heard of it.
func (w *testPlane) remove(key string) {
	w.t.Helper()
	namespace, name, _ := strings.Cut(key, "/")
	if err := w.clients.CoreV1().ConfigMaps(namespace).Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

// namespace makes a namespace.
func (w *testPlane) namespace(name string) {
	w.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	must(w.clients.CoreV1().Namespaces().Create(w.t.Context(), namespace, metav1.CreateOptions{}))(w.t)
}

// events writes down what a handler is told.
type events struct {
	mu    sync.Mutex
	lines []string
}

func (e *events) OnAdd(obj any, isInInitialList bool) {
	e.note("add %s initial=%t", described(obj), isInInitialList)
}

func (e *events) OnUpdate(old, new any) {
	if old.(metav1.Object).GetResourceVersion() == new.(metav1.Object).GetResourceVersion() {
		e.note("again %s", described(new))
		return
	}
	e.note("update %s to %s", described(old), described(new))
}

func (e *events) OnDelete(obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		e.note("tombstone %s, last known %s", tombstone.Key, described(tombstone.Obj))
		return
	}
	e.note("delete %s", described(obj))
}

func (e *events) note(format string, arguments ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = append(e.lines, fmt.Sprintf(format, arguments...))
}

// drain returns the notifications since the last call.
func (e *events) drain() []string {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	lines := e.lines
	e.lines = nil
	return lines
}

func described(obj any) string {
	configMap := obj.(*corev1.ConfigMap)
	return fmt.Sprintf("%s/%s=%s", configMap.Namespace, configMap.Name, configMap.Data["value"])
}

// must returns a value, and fails the test if there was an error.
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
