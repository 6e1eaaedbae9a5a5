package informer_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/inprocess"
	"github.com/bowline-dev/bowline/internal/object"
)

// listTimes records the times of list requests.
type listTimes struct {
	*plane
	mu    sync.Mutex
	times []time.Time
}

func (l *listTimes) List(ctx context.Context, resource schema.GroupVersionResource,
	options client.Options) (client.List, error) {
	l.mu.Lock()
	l.times = append(l.times, time.Now())
	l.mu.Unlock()
	return l.plane.List(ctx, resource, options)
}

// drain returns the times since its last call, in order.
func (l *listTimes) drain() []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	times := l.times
	l.times = nil
	slices.SortFunc(times, time.Time.Compare)
	return times
}

func TestExpiredInformersSpreadTheirLists(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &listTimes{plane: newPlane()}
		p.put("a", "1")
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		const informers = 100
		for range informers {
			i := informer.New(p, configmaps, quiet())
			running.Go(func() { i.Run(ctx) })
		}
		pause()
		p.drain()
		lost := time.Now()
		p.put("b", "1")
		p.compact()
		p.set(func(p *plane) { p.oldest++ }) // and breaks off all watches
		p.put("c", "1")
		time.Sleep(time.Minute)
		times := p.drain()
		if len(times) < informers || times[informers-1].Sub(lost) > 10*time.Second {
			t.Fatalf("got %d lists, the last after %v", len(times), times[len(times)-1].Sub(lost))
		}
		const maxLists = 25 // in a tenth of a second; at random over two seconds it is five
		for n := range len(times) - maxLists {
			if window := times[n+maxLists].Sub(times[n]); window < 100*time.Millisecond {
				t.Errorf("got %d lists within %v", maxLists, window)
				break
			}
		}
		cancel()
		running.Wait()
	})
}

func TestRetryAfterIsRespected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var requests []time.Time
		transport := inprocess.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests = append(requests, time.Now())
			w.Header().Set("Retry-After", "30")
			http.Error(w, "busy", http.StatusTooManyRequests)
		}))
		c, err := client.New(transport.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		i := informer.New(client.NewSource(c), configmaps, quiet())
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		i.Run(ctx)
		transport.Close()
		if len(requests) < 10 {
			t.Fatalf("got %d requests", len(requests))
		}
		for n := range requests[1:] {
			if waited := requests[n+1].Sub(requests[n]); waited < 30*time.Second || waited > 41*time.Second {
				t.Errorf("got request %d after %v", n+1, waited)
			}
		}
	})
}

func TestUndecodableObjectsAreCountedUntilDeleted(t *testing.T) {
	t.Parallel()
	inBubble(t, newPlane, quiet, func(p *plane, i *informer.Informer[*corev1.ConfigMap], d *deliveries) {
		for _, name := range []string{"a", "b", "c"} {
			p.put(name, "1")
		}
		d.read()
		p.corrupt("a")
		p.corrupt("b")
		p.put("c", "2")
		d.expect(t, "update c=1->2")
		if n := i.Unreadable(); n != 2 {
			t.Errorf("Unreadable returned %d", n)
		}
		p.remove("a")
		p.put("b", "3")
		d.expect(t, "delete a=1 unknown=true", "update b=1->3")
	})
}

func TestOutdatedStatesAreNotDecoded(t *testing.T) {
	t.Parallel()
	decoded := 0
	var release chan struct{} // of the bubble
	blocking := func() options {
		o := quiet()
		o.Decode = func(by object.Codec, raw *object.Object) (*corev1.ConfigMap, error) {
			if decoded++; decoded == 1 {
				<-release
			}
			obj, err := raw.Decoded(by)
			return obj.(*corev1.ConfigMap), err
		}
		return o
	}
	populated := func() *plane { release = make(chan struct{}); p := newPlane(); p.put("a", "1"); return p }
	inBubble(t, populated, blocking, func(p *plane, i *informer.Informer[*corev1.ConfigMap], _ *deliveries) {
		for n := range 10 {
			p.put("a", strconv.Itoa(n+2))
			synctest.Wait()
		}
		close(release)
		synctest.Wait()
		if got := cached(i)["a"]; got != "11" || decoded != 2 {
			t.Errorf("got a=%s in the cache after decoding %d of eleven states", got, decoded)
		}
	})
}

// shipDefinition defines a resource whose schema permits any fields.
func shipDefinition() *apiextensionsv1.CustomResourceDefinition {
	preserve := true
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{Kind: "CustomResourceDefinition", APIVersion: "apiextensions.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: "ships.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "ships", Singular: "ship", Kind: "Ship",
				ListKind: "ShipList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}},
			}},
		},
	}
}

func TestWireInformerWaitsForDefinition(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]func(*client.Client) client.Source{"in pages": client.NewSource, "streamed": client.NewStreamingSource} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { waitForDefinition(t, source) })
		})
	}
}

func waitForDefinition(t *testing.T, source func(*client.Client) client.Source) {
	plane, err := bowline.Start(t.Context(), bowline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	c, err := client.New(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	ships := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "ships"}
	var log bytes.Buffer
	i := informer.New(source(c), ships,
		informer.Options[*unstructured.Unstructured]{Log: slog.New(slog.NewTextHandler(&log, nil))})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { i.Run(ctx) })
	time.Sleep(time.Hour)
	synctest.Wait()
	if count := strings.Count(log.String(), "the resource is not served yet"); count != 1 {
		t.Errorf("got %d log records that the resource is not served, want 1", count)
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	if _, err := client.Of[*apiextensionsv1.CustomResourceDefinition](c, definitions).Create(ctx, shipDefinition(),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	defined := time.Now()
	<-i.Synced()
	if took := time.Since(defined); took > time.Second {
		t.Errorf("the informer synced %v after the definition was created", took)
	}
	ship := &unstructured.Unstructured{Object: map[string]any{"kind": "Ship", "apiVersion": "example.com/v1",
		"metadata": map[string]any{"name": "one"}}}
	if _, err := client.Of[*unstructured.Unstructured](c, ships).Create(ctx, ship, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	if i.Indexer().Len() != 1 {
		t.Errorf("got %d cached ships", i.Indexer().Len())
	}
	cancel()
	running.Wait()
}
