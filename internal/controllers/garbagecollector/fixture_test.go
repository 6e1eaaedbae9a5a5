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
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/garbagecollector"
	"github.com/bowline-dev/bowline/internal/trial"
)

// fixture is a plane in a bubble that runs only a collector.
type fixture struct {
	*testing.T
	plane   *bowlinetest.Plane
	client  *client.Client
	configs client.Resource[*corev1.ConfigMap]
	way     *proxy
	waiting func() int // counts the objects that wait for the kinds of their owners to be served
}

func runFixture(t *testing.T, test func(w *fixture)) {
	t.Helper()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		w := &fixture{T: t, plane: p, way: &proxy{held: map[string]chan struct{}{}, failing: map[string]bool{},
			hanging: map[string]bool{}, reads: map[string]int{}}}
		w.client = clientOf(w, p)
		w.configs = client.For[*corev1.ConfigMap](w.client)
		config := rest.CopyConfig(p.RESTConfig())
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

func clientOf(w *fixture, p *bowlinetest.Plane) *client.Client {
	w.Helper()
	c, err := client.New(p.RESTConfig())
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// configMap creates a ConfigMap that has the given owners and blocks their deletion.
func (w *fixture) configMap(name string, finalizers []string, owners ...*corev1.ConfigMap) *corev1.ConfigMap {
	w.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: metaOwnedBy(name, finalizers, owners)}
	made, err := w.configs.Create(w.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return made
}

// secret creates a Secret that has the given owners and blocks their deletion.
func (w *fixture) secret(name string, finalizers []string, owners ...*corev1.ConfigMap) {
	w.Helper()
	obj := &corev1.Secret{ObjectMeta: metaOwnedBy(name, finalizers, owners)}
	if _, err := client.For[*corev1.Secret](w.client).Create(w.Context(), obj, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

func metaOwnedBy(name string, finalizers []string, owners []*corev1.ConfigMap) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Namespace: "default", Name: name, Finalizers: finalizers}
	for _, owner := range owners {
		meta.OwnerReferences = append(meta.OwnerReferences, metav1.OwnerReference{
			APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: new(true),
		})
	}
	return meta
}

// remove deletes a ConfigMap.
func (w *fixture) remove(name string, policy metav1.DeletionPropagation) {
	w.Helper()
	if err := w.configs.Delete(w.Context(), "default", name,
		metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		w.Fatal(err)
	}
}

// resources maps the prefixes of object names in these tests to resources.
var resources = map[string]schema.GroupVersionResource{
	"configmap":  {Version: "v1", Resource: "configmaps"},
	"secret":     {Version: "v1", Resource: "secrets"},
	"widget":     {Group: "example.com", Version: "v2", Resource: "widgets"},
	"apiservice": {Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
}

// of returns the resource and the name of an object such as "configmap/a".
func (w *fixture) of(object string) (client.Resource[*metav1.PartialObjectMetadata], string) {
	resource, name, _ := strings.Cut(object, "/")
	return client.Of[*metav1.PartialObjectMetadata](w.client, resources[resource]), name
}

// expect fails the test unless each object exists, or does not, as given.
func (w *fixture) expect(exists bool, objects ...string) {
	w.Helper()
	for _, object := range objects {
		resource, name := w.of(object)
		if _, err := resource.Get(w.Context(), "default", name); err != nil && !apierrors.IsNotFound(err) ||
			(err == nil) != exists {
			w.Errorf("%s: got %v, want it to exist: %t", object, err, exists)
		}
	}
}

// expectFree fails the test unless the object exists and has no owners.
func (w *fixture) expectFree(object string) {
	w.Helper()
	resource, name := w.of(object)
	obj, err := resource.Get(w.Context(), "default", name)
	if err != nil {
		w.Errorf("%s: %v", object, err)
	} else if len(obj.OwnerReferences) > 0 {
		w.Errorf("%s: got owners %v, want none", object, obj.OwnerReferences)
	}
}

// let removes the finalizers of an object.
func (w *fixture) let(object string) {
	w.Helper()
	resource, name := w.of(object)
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := resource.Patch(w.Context(), "default", name, "", types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
}

// proxy is the transport that the collector's requests go through, with faults. Paths are those of collections.
type proxy struct {
	mu      sync.Mutex
	held    map[string]chan struct{} // paths whose watches are blocked until the channel is closed
	failing map[string]bool          // paths whose lists fail
	hanging map[string]bool          // paths whose reads are never answered
	reads   map[string]int           // number of reads by path
	halts   map[string]*halt         // by request, such as "GET /api"
	other   http.RoundTripper        // server that answers for example.com; nil for the plane itself
}

// halt blocks a request: met is closed when the request arrives, and on lets it continue.
type halt struct{ met, on chan struct{} }

// hold blocks the events of watches at a path until release.
func (y *proxy) hold(path string) (release func()) {
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

// fail makes lists at a path fail, or succeed again.
func (y *proxy) fail(path string, fails bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.failing[path] = fails
}

// hang makes reads of the paths hang until the client gives up.
func (y *proxy) hang(paths ...string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, path := range paths {
		y.hanging[path] = true
	}
}

// halt blocks the next request of a method and path until release. met is closed when the request arrives.
func (y *proxy) halt(request string) (met <-chan struct{}, release func()) {
	y.mu.Lock()
	defer y.mu.Unlock()
	h := &halt{make(chan struct{}), make(chan struct{})}
	y.halts = map[string]*halt{request: h}
	return h.met, func() { close(h.on) }
}

// meet blocks the request if a halt is set for it.
func (y *proxy) meet(q *http.Request) {
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

// count returns how often a path was read.
func (y *proxy) count(path string) int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.reads[path]
}

// lead wraps a transport with the faults.
func (y *proxy) lead(next http.RoundTripper) http.RoundTripper {
	return transport(func(q *http.Request) (*http.Response, error) {
		y.meet(q)
		next := y.route(next)
		if q.Method != http.MethodGet {
			return next.RoundTrip(q)
		}
		y.mu.Lock()
		y.reads[q.URL.Path]++
		fails, hangs := y.failing[q.URL.Path], y.hanging[q.URL.Path]
		y.mu.Unlock()
		if hangs {
			<-q.Context().Done()
			return nil, q.Context().Err()
		}
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

// transport adapts a function to http.RoundTripper.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(q *http.Request) (*http.Response, error) { return t(q) }

// stream is the body of a watch response.
type stream struct {
	io.ReadCloser
	proxy *proxy
	q     *http.Request
}

func (s *stream) Read(to []byte) (int, error) {
	n, err := s.ReadCloser.Read(to)
	s.proxy.mu.Lock()
	held := s.proxy.held[s.q.URL.Path]
	s.proxy.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-s.q.Context().Done():
		}
	}
	return n, err
}
