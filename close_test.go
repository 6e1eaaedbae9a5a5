package bowline_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
)

// slow is a plugin that blocks writes of Secrets until their requests end.
type slow struct{ entered chan struct{} }

func (slow) Name() string { return "Slow" }
func (slow) Handles(_ admission.Operation, r schema.GroupResource, _ string) bool {
	return r.Resource == "secrets"
}
func (s slow) Admit(ctx context.Context, _ *admission.Attributes, _ admission.Reader) error {
	s.entered <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}
func (slow) Validate(context.Context, *admission.Attributes, admission.Reader) error { return nil }

// TestCloseLeavesNothingRunning closes planes with watches, informers and a request in flight, in process and
// over TLS. It is not parallel because it examines all goroutines.
func TestCloseLeavesNothingRunning(t *testing.T) {
	for _, listen := range []string{"", "127.0.0.1:0"} {
		before := goleak.IgnoreCurrent()
		plugin := slow{make(chan struct{}, 1)}
		plane, err := bowline.Start(t.Context(), bowline.Options{Listen: listen, Plugins: []admission.Plugin{plugin}})
		if err != nil {
			t.Fatal(err)
		}
		config := plane.RESTConfig()
		if listen != "" {
			if config, err = plane.SocketConfig(); err != nil {
				t.Fatal(err)
			}
		}
		stop := busy(t, config, plugin)
		if err := plane.Close(); err != nil { // an error would mean that a request was cut off
			t.Errorf("%q: %v", listen, err)
		}
		stop()
		if listen != "" { // close the client's idle connections
			transport, err := rest.TransportFor(config)
			if err != nil {
				t.Fatal(err)
			}
			utilnet.CloseIdleConnectionsFor(transport)
		}
		if err := goleak.Find(before); err != nil {
			t.Errorf("%q: %v", listen, err)
		}
	}
}

// busy opens watches, one raw and one typed, an informer, and a request that blocks in a plugin. stop ends
// the clients, after the plane has been closed.
func busy(t *testing.T, config *rest.Config, plugin slow) (stop func()) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	watching, err := clients.CoreV1().ConfigMaps("").Watch(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := (&http.Client{Transport: transport}).Get(config.Host + "/api/v1/pods?watch=1")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	factory := informers.NewSharedInformerFactory(clients, 0)
	factory.Core().V1().Pods().Informer()
	factory.Start(ended)
	factory.WaitForCacheSync(ended)
	var writing sync.WaitGroup
	writing.Go(func() {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
		err := clients.CoreV1().RESTClient().Post().Namespace("default").Resource("secrets").
			Timeout(200 * time.Millisecond).Body(secret).Do(context.Background()).Error()
		if err == nil {
			t.Error("a write that a plugin holds was done")
		}
	})
	<-plugin.entered
	return func() {
		watching.Stop()
		raw.Body.Close()
		close(ended)
		factory.Shutdown()
		writing.Wait()
	}
}

// TestStartAndCloseManyTimes checks that planes leak neither memory nor goroutines. It is not parallel
// because it examines the whole heap.
func TestStartAndCloseManyTimes(t *testing.T) {
	round := func(n int) (heap uint64, goroutines int) {
		for range n {
			plane, err := bowline.Start(t.Context(), bowline.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := plane.Close(); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc, runtime.NumGoroutine()
	}
	heap, goroutines := round(100)
	heapAfter, goroutinesAfter := round(900)
	if grown := int64(heapAfter) - int64(heap); grown > 1<<20 {
		t.Errorf("900 planes leave %d KiB", grown>>10)
	}
	if goroutinesAfter > goroutines {
		t.Errorf("%d goroutines became %d", goroutines, goroutinesAfter)
	}
}

// TestPortInUse checks that Start reports unusable options and leaves nothing running.
func TestPortInUse(t *testing.T) {
	before := goleak.IgnoreCurrent()
	inUse, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inUse.Close()
	address := inUse.Addr().String()
	if _, err := bowline.Start(t.Context(), bowline.Options{Listen: address}); err == nil ||
		!strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a taken port: %v", err)
	}
	for _, invalid := range []string{"nowhere", "127.0.0.1:99999", "127.0.0.1"} {
		if _, err := bowline.Start(t.Context(), bowline.Options{Listen: invalid}); err == nil {
			t.Errorf("%q was listened on", invalid)
		}
	}
	if _, err := bowline.Start(t.Context(), bowline.Options{Controllers: []string{"nothing"}}); err == nil ||
		!strings.Contains(err.Error(), `unknown controller "nothing"`) {
		t.Errorf("an unknown controller: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if plane, err := bowline.Start(ended, bowline.Options{}); err == nil {
		plane.Close()
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("started when its context had ended: %v", err)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// A request passed to Handler without a user is anonymous.
func TestHandlerWithoutUserIsAnonymous(t *testing.T) {
	t.Parallel()
	plane, _ := startPlane(t, bowline.Options{})
	for path, want := range map[string]int{"/readyz": http.StatusOK, "/livez": http.StatusOK, "/version": http.StatusOK,
		"/api/v1/pods": http.StatusUnauthorized} {
		rec := &recording{header: http.Header{}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		plane.Handler().ServeHTTP(rec, req)
		if rec.code != want {
			t.Errorf("%s: %d, want %d", path, rec.code, want)
		}
	}
}

// recording is a ResponseWriter that records the status code.
type recording struct {
	header http.Header
	code   int
	io.Writer
}

func (r *recording) Header() http.Header { return r.header }
func (r *recording) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
}
func (r *recording) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return len(p), nil
}
