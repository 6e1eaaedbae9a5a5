package controllerruntime_test

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/adapters/controllerruntime"
	_ "github.com/bowline-dev/bowline/bowlinetest" // has client-go's pauses after errors fit a bubble's time
)

func init() { log.SetLogger(logr.Discard()) } // or it complains after half a minute that nobody did

// world is a plane in a bubble, and one side's caches on it.
type world struct {
	t      *testing.T
	side   string
	plane  *bowline.Plane
	client client.Client
	new    cache.NewCacheFunc
	wait   func() // until everybody has heard of everything; nothing out of a bubble
}

// sides lists the implementations of the cache that the tests compare.
var sides = map[string]func(*bowline.Plane) cache.NewCacheFunc{
	"controller-runtime":  func(*bowline.Plane) cache.NewCacheFunc { return cache.New },
	"ours, over the wire": func(*bowline.Plane) cache.NewCacheFunc { return controllerruntime.NewCache },
	"ours, in process":    func(p *bowline.Plane) cache.NewCacheFunc { return controllerruntime.On(p.Source()) },
}

// each runs a test on every side, each in its own bubble.
func each(t *testing.T, test func(*world)) {
	t.Helper()
	for name, side := range sides {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { on(t, name, side, synctest.Wait, test) })
		})
	}
}

// eachInRealTime is like each, without bubbles, for tests that leave goroutines behind.
func eachInRealTime(t *testing.T, test func(*world)) {
	t.Helper()
	for name, side := range sides {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on(t, name, side, func() {}, test)
		})
	}
}

func on(t *testing.T, name string, side func(*bowline.Plane) cache.NewCacheFunc, wait func(), test func(*world)) {
	plane := must(bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}}))(t)
	defer plane.Close()
	test(&world{t: t, side: name, plane: plane, client: must(client.New(plane.RESTConfig(), client.Options{}))(t),
		new: side(plane), wait: wait})
}

// compare checks that a behaviour has the same result on every side, and not an empty one.
func compare(t *testing.T, behaviour func(*world) []string) {
	t.Helper()
	compareBy(t, each, behaviour)
}

func compareBy(t *testing.T, each func(*testing.T, func(*world)), behaviour func(*world) []string) {
	t.Helper()
	var mu sync.Mutex
	outcomes := map[string]string{}
	t.Run("on", func(t *testing.T) { // ends when all sides have
		each(t, func(w *world) {
			out := strings.Join(behaviour(w), "\n")
			mu.Lock()
			defer mu.Unlock()
			outcomes[w.side] = out
		})
	})
	wanted := outcomes["controller-runtime"]
	if wanted == "" {
		t.Error("controller-runtime's cache did nothing")
	}
	for name, got := range outcomes {
		if got != wanted {
			t.Errorf("%s:\n%s\n\ncontroller-runtime:\n%s", name, got, wanted)
		}
	}
}

// make creates a cache without starting it.
func (w *world) make(options cache.Options) cache.Cache {
	w.t.Helper()
	return must(w.new(rest.CopyConfig(w.plane.RESTConfig()), options))(w.t)
}

// run starts a cache and waits until it has synced. The returned function stops it.
func (w *world) run(c cache.Cache) (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	if !c.WaitForCacheSync(ctx) {
		w.t.Error("the cache has not synced")
	}
	return func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	}
}

// set creates or updates ConfigMaps, each given as namespace/name=value and labels, and creates their namespaces.
func (w *world) set(what ...string) {
	w.t.Helper()
	for _, one := range what {
		words := strings.Fields(one)
		key, value, _ := strings.Cut(words[0], "=")
		namespace, name, _ := strings.Cut(key, "/")
		if namespace != "default" {
			// or it is there
			_ = w.client.Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		}
		configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			Labels: map[string]string{}}}
		configMap.Data = map[string]string{"value": value}
		for _, label := range words[1:] {
			key, value, _ := strings.Cut(label, "=")
			configMap.Labels[key] = value
		}
		if err := w.client.Update(w.t.Context(), configMap); err != nil {
			if err := w.client.Create(w.t.Context(), configMap); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.wait()
}

// list describes the sorted list of a cache, or its error.
func (w *world) list(c client.Reader, options ...client.ListOption) string {
	var found corev1.ConfigMapList
	if err := c.List(w.t.Context(), &found, options...); err != nil {
		return "error: " + err.Error()
	}
	var out []string
	for _, configMap := range found.Items {
		if configMap.Name != "kube-root-ca.crt" {
			out = append(out, described(&configMap))
		}
	}
	sort.Strings(out)
	return fmt.Sprint(out)
}

// get describes the object that a cache returns, or its error.
func (w *world) get(c client.Reader, key string, options ...client.GetOption) string {
	namespace, name, _ := strings.Cut(key, "/")
	var found corev1.ConfigMap
	if err := c.Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &found, options...); err != nil {
		return "error: " + err.Error()
	}
	return described(&found)
}

func described(obj any) string {
	if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	configMap := obj.(*corev1.ConfigMap)
	return fmt.Sprintf("%s/%s=%s", configMap.Namespace, configMap.Name, configMap.Data["value"])
}

// events records the notifications of a handler about the tests' ConfigMaps.
type events struct {
	mu   sync.Mutex
	told []string
}

func (e *events) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { e.note(fmt.Sprintf("add %s %t", described(obj), initial)) },
		UpdateFunc: func(old, new any) { e.note("update " + described(old) + " " + described(new)) },
		DeleteFunc: func(obj any) { e.note("delete " + described(obj)) },
	}
}

func (e *events) note(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !strings.Contains(what, "kube-root-ca.crt") {
		e.told = append(e.told, what)
	}
}

// take returns the notifications since the last call.
func (e *events) take() []string {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	told := e.told
	e.told = nil
	return slices.Clone(told)
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
