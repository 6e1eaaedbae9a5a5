package garbagecollector_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/garbagecollector"
)

// world is a plane in a bubble on which nothing runs but a collector.
type world struct {
	*testing.T
	plane   *bowlinetest.Plane
	client  *client.Client
	configs client.Resource[*corev1.ConfigMap]
	way     *way
	waiting func() int // how many objects wait for the kinds of their owners to be served
}

func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		w := &world{T: t, plane: p, way: &way{held: map[string]chan struct{}{}, failing: map[string]bool{}, asked: map[string]int{}}}
		w.client = clientOf(w, p)
		w.configs = client.For[*corev1.ConfigMap](w.client)
		config := rest.CopyConfig(p.Config())
		config.Wrap(w.way.lead)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		added := make(chan func() int, 1)
		running.Go(func() {
			trial.Of(func(m *controller.Manager) *controller.Controller {
				c, waiting := garbagecollector.AddWatched(m)
				added <- waiting
				return c
			})(ctx, config)
		})
		w.waiting = <-added
		time.Sleep(time.Minute)
		test(w)
		cancel()
		running.Wait()
	}, trial.Alone())
}

func clientOf(w *world, p *bowlinetest.Plane) *client.Client {
	w.Helper()
	c, err := client.New(p.Config())
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// configMap makes a ConfigMap that belongs to others, and blocks them.
func (w *world) configMap(name string, finalizers []string, owners ...*corev1.ConfigMap) *corev1.ConfigMap {
	w.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: belonging(name, finalizers, owners)}
	made, err := w.configs.Create(w.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return made
}

// secret makes a Secret that belongs to others, and blocks them.
func (w *world) secret(name string, finalizers []string, owners ...*corev1.ConfigMap) {
	w.Helper()
	obj := &corev1.Secret{ObjectMeta: belonging(name, finalizers, owners)}
	if _, err := client.For[*corev1.Secret](w.client).Create(w.Context(), obj, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

func belonging(name string, finalizers []string, owners []*corev1.ConfigMap) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Namespace: "default", Name: name, Finalizers: finalizers}
	for _, owner := range owners {
		meta.OwnerReferences = append(meta.OwnerReferences, metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: new(true),
		})
	}
	return meta
}

// remove deletes a ConfigMap.
func (w *world) remove(name string, policy metav1.DeletionPropagation) {
	w.Helper()
	if err := w.configs.Delete(w.Context(), "default", name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		w.Fatal(err)
	}
}

// resources are those that a test's names begin with.
var resources = map[string]schema.GroupVersionResource{
	"configmap": {Version: "v1", Resource: "configmaps"},
	"secret":    {Version: "v1", Resource: "secrets"},
	"widget":    {Group: "example.com", Version: "v2", Resource: "widgets"},
}

// of is the resource, and the name, of an object such as "configmap/a".
func (w *world) of(object string) (client.Resource[*metav1.PartialObjectMetadata], string) {
	resource, name, _ := strings.Cut(object, "/")
	return client.Of[*metav1.PartialObjectMetadata](w.client, resources[resource]), name
}

// expect says whether objects are there.
func (w *world) expect(there bool, objects ...string) {
	w.Helper()
	for _, object := range objects {
		resource, name := w.of(object)
		if _, err := resource.Get(w.Context(), "default", name); err != nil && !apierrors.IsNotFound(err) || (err == nil) != there {
			w.Errorf("%s: %v; want it there: %t", object, err, there)
		}
	}
}

// expectFree expects an object that belongs to nobody.
func (w *world) expectFree(object string) {
	w.Helper()
	resource, name := w.of(object)
	obj, err := resource.Get(w.Context(), "default", name)
	if err != nil {
		w.Errorf("%s: %v", object, err)
	} else if len(obj.OwnerReferences) > 0 {
		w.Errorf("%s belongs to %v", object, obj.OwnerReferences)
	}
}

// let takes the finalizers from an object.
func (w *world) let(object string) {
	w.Helper()
	resource, name := w.of(object)
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := resource.Patch(w.Context(), "default", name, "", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
}

// way is what the collector's requests go through. Paths are those of collections.
type way struct {
	mu      sync.Mutex
	held    map[string]chan struct{} // paths whose watches tell nothing until the channel is closed
	failing map[string]bool          // paths whose lists fail
	asked   map[string]int           // how often a path was read
	halts   map[string]*halt         // by requests, such as "GET /api"
	other   http.RoundTripper        // the server that answers for example.com; nil for the plane itself
}

// halt is where a request waits.
type halt struct{ met, on chan struct{} }

// hold has nothing told of what is watched at a path, until release.
func (y *way) hold(path string) (release func()) {
	y.mu.Lock()
	defer y.mu.Unlock()
	held := make(chan struct{})
	y.held[path] = held
	return func() {
		y.mu.Lock()
		defer y.mu.Unlock()
		delete(y.held, path)
		close(held)
	}
}

// fail has lists at a path fail, or no more.
func (y *way) fail(path string, fails bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.failing[path] = fails
}

// halt has the next request of a method and path wait, once it has come, until release.
func (y *way) halt(request string) (met <-chan struct{}, release func()) {
	y.mu.Lock()
	defer y.mu.Unlock()
	h := &halt{make(chan struct{}), make(chan struct{})}
	y.halts = map[string]*halt{request: h}
	return h.met, func() { close(h.on) }
}

// meet waits where a request is to.
func (y *way) meet(q *http.Request) {
	request := q.Method + " " + q.URL.Path
	y.mu.Lock()
	h := y.halts[request]
	delete(y.halts, request)
	y.mu.Unlock()
	if h == nil {
		return
	}
	close(h.met)
	select {
	case <-h.on:
	case <-q.Context().Done():
	}
}

// count is how often a path was read.
func (y *way) count(path string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.asked[path]
}

// lead has a transport's requests go this way.
func (y *way) lead(next http.RoundTripper) http.RoundTripper {
	return transport(func(q *http.Request) (*http.Response, error) {
		y.meet(q)
		next := y.route(next)
		if q.Method != http.MethodGet {
			return next.RoundTrip(q)
		}
		y.mu.Lock()
		y.asked[q.URL.Path]++
		fails := y.failing[q.URL.Path]
		y.mu.Unlock()
		if fails {
			const failure = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","message":"no","code":500}`
			return &http.Response{
				StatusCode: http.StatusInternalServerError, Request: q, Body: io.NopCloser(strings.NewReader(failure)),
				Header: http.Header{"Content-Type": {"application/json"}},
			}, nil
		}
		r, err := next.RoundTrip(q)
		if err == nil && q.URL.Query().Has("watch") {
			r.Body = &stream{r.Body, y, q}
		}
		return r, err
	})
}

// transport is a function as what requests go through.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(q *http.Request) (*http.Response, error) { return t(q) }

// stream is what a watch tells.
type stream struct {
	io.ReadCloser
	way *way
	q   *http.Request
}

func (s *stream) Read(to []byte) (int, error) {
	n, err := s.ReadCloser.Read(to)
	s.way.mu.Lock()
	held := s.way.held[s.q.URL.Path]
	s.way.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-s.q.Context().Done():
		}
	}
	return n, err
}
