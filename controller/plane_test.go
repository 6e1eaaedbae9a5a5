package controller_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// testPlane is a plane without controllers in a bubble, for the managers of a test.
type testPlane struct {
	*testing.T
	plane  *bowline.Plane
	client *client.Client
	maps   client.Resource[*corev1.ConfigMap]
	log    logged
}

func withPlane(t *testing.T, test func(w *testPlane)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		plane, err := bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}})
		if err != nil {
			t.Fatal(err)
		}
		defer plane.Close()
		c, err := client.New(plane.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		test(&testPlane{T: t, plane: plane, client: c, maps: client.Of[*corev1.ConfigMap](c, configMaps)})
	})
}

// manager returns a manager that uses the plane's Source, unless the options have another source.
func (w *testPlane) manager(config *rest.Config, o controller.ManagerOptions) *controller.Manager {
	w.Helper()
	if o.Source == nil {
		o.Source = w.plane.Source()
	}
	o.Log = slog.New(slog.NewTextHandler(&w.log, nil))
	m, err := controller.NewManager(config, o)
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// running is a running manager.
type running struct {
	cancel context.CancelFunc
	ended  chan struct{}
	err    error
}

func run(m *controller.Manager) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		r.err = m.Run(ctx)
	}()
	return r
}

// stop stops the manager and returns the error of Run.
func (r *running) stop() error {
	r.cancel()
	<-r.ended
	return r.err
}

func (w *testPlane) create(namespace, name string) *corev1.ConfigMap {
	w.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, GenerateName: "made-"}}
	created, err := w.maps.Create(w.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return created
}

// logged is a log that may be read while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// names records the names of the requests of a controller.
type names struct {
	mu  sync.Mutex
	got []string
}

func (n *names) Reconcile(_ context.Context, r controller.Request) (controller.Result, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.got = append(n.got, r.String())
	return controller.Result{}, nil
}

// take returns the names since its last call, once all goroutines are idle.
func (n *names) take() string {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	defer func() { n.got = nil }()
	return strings.Join(n.got, " ")
}

// delayedSource is a source whose events come with a delay.
type delayedSource struct {
	client.Source
	delay time.Duration
}

func (l delayedSource) Watch(ctx context.Context, resource schema.GroupVersionResource,
	o client.Options) (client.Watch, error) {
	w, err := l.Source.Watch(ctx, resource, o)
	return delayedWatch{w, l.delay}, err
}

type delayedWatch struct {
	client.Watch
	delay time.Duration
}

func (l delayedWatch) Next(ctx context.Context) ([]client.Event, error) {
	events, err := l.Watch.Next(ctx)
	select {
	case <-time.After(l.delay):
	case <-ctx.Done():
	}
	return events, err
}

// children creates a child of each config map that is not a child and has none in the cache.
type children struct {
	cache informer.Lister[*corev1.ConfigMap]
	maps  client.Resource[*corev1.ConfigMap]
}

func (c *children) Reconcile(ctx context.Context, r controller.Request) (controller.Result, error) {
	for _, other := range c.cache.List(r.Namespace, nil) {
		if other.Labels["parent"] == r.Name || other.Name == r.Name && other.Labels["parent"] != "" {
			return controller.Result{}, nil
		}
	}
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.Namespace, GenerateName: r.Name + "-", Labels: map[string]string{"parent": r.Name},
	}}
	_, err := c.maps.Create(ctx, child, metav1.CreateOptions{})
	return controller.Result{}, err
}

// childrenMade runs children with a cache that lags behind, requests the reconciliation of a parent three times,
// and returns the number of its children.
func childrenMade(w *testPlane, delay time.Duration, caches []*informer.Factory) int {
	m := w.manager(w.plane.RESTConfig(), controller.ManagerOptions{Source: delayedSource{w.plane.Source(), delay}})
	maps := informer.For[*corev1.ConfigMap](m.Informers(), configMaps)
	var trigger controller.Trigger
	m.Add(controller.Options{
		Name:       "children",
		Sources:    []controller.Source{&trigger},
		Caches:     caches,
		Reconciler: &children{maps.Lister(), client.Of[*corev1.ConfigMap](m.Client(), configMaps)},
	})
	w.create("default", "parent")
	r := run(m)
	<-m.Ready()
	<-maps.Synced()
	for range 3 {
		trigger.Add(controller.Request{Namespace: "default", Name: "parent"})
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Minute)
	if err := r.stop(); err != nil {
		w.Error(err)
	}
	list, err := w.maps.List(w.Context(), "default", metav1.ListOptions{LabelSelector: "parent=parent"})
	if err != nil {
		w.Fatal(err)
	}
	return len(list.Items)
}

func TestControllerReadsItsOwnWrites(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		if n := childrenMade(w, 2*time.Second, nil); n != 1 {
			w.Errorf("got %d children, want 1", n)
		}
	})
}

// TestControllerWithoutReadYourWritesActsTwice checks that the previous test fails without Options.Caches.
func TestControllerWithoutReadYourWritesActsTwice(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		if n := childrenMade(w, 2*time.Second, []*informer.Factory{}); n != 3 {
			w.Errorf("got %d children, want 3", n)
		}
	})
}

func TestWaitForACacheIsBounded(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		if n := childrenMade(w, time.Hour, nil); n != 3 {
			w.Errorf("got %d children, want 3: each request is reconciled after five seconds",
				n)
		}
		if log := w.log.String(); strings.Count(log, "a cache does not show the last write") != 2 ||
			!strings.Contains(log, "object=default/parent") {
			w.Errorf("got log %s", log)
		}
	})
}

// TestControllerReadsClientGoWrites writes with a client-go clientset of a config from client.Observed.
func TestControllerReadsClientGoWrites(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		m := w.manager(w.plane.RESTConfig(),
			controller.ManagerOptions{Source: delayedSource{w.plane.Source(), time.Second}})
		maps := informer.For[*corev1.ConfigMap](m.Informers(), configMaps)
		clients := kubernetes.NewForConfigOrDie(client.Observed(w.plane.RESTConfig()))
		var values []string
		var trigger controller.Trigger
		m.Add(controller.Options{Name: "count", Sources: []controller.Source{&trigger}, Reconciler: controller.Func(
			func(ctx context.Context, r controller.Request) (controller.Result, error) {
				cached, err := maps.Lister().Get(r.Namespace, r.Name)
				if err != nil {
					return controller.Result{}, err
				}
				values = append(values, cached.Data["n"])
				next := cached.DeepCopy()
				next.Data = map[string]string{"n": cached.Data["n"] + "I"}
				_, err = clients.CoreV1().ConfigMaps(r.Namespace).Update(ctx, next, metav1.UpdateOptions{})
				return controller.Result{}, err
			})})
		w.create("default", "a")
		r := run(m)
		<-m.Ready()
		<-maps.Synced()
		for range 3 {
			trigger.Add(controller.Request{Namespace: "default", Name: "a"})
			time.Sleep(3 * time.Second)
		}
		if err := r.stop(); err != nil {
			w.Error(err)
		}
		if got := strings.Join(values, ","); got != ",I,II" {
			w.Errorf("the reconciler read %q, want each of its writes", got)
		}
	})
}
