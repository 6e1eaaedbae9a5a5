package clientgo_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/adapters/clientgo"
	"github.com/bowline-dev/bowline/client"
)

var (
	ships       = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "ships"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
)

// TestInformerSurvivesDeletedDefinition compares with client-go's dynamic informer what ours tells when the
// definition comes after it, goes, and comes again.
func TestInformerSurvivesDeletedDefinition(t *testing.T) {
	t.Parallel()
	notified := map[string]string{}
	for name, make := range map[string]func(*bowline.Plane, dynamic.Interface) untyped{
		"client-go": func(_ *bowline.Plane, clients dynamic.Interface) untyped {
			return dynamicinformer.NewDynamicSharedInformerFactory(clients, 0)
		},
		"ours, over the wire": func(p *bowline.Plane, _ dynamic.Interface) untyped {
			return clientgo.NewDynamicSharedInformerFactory(client.NewSource(must(client.New(p.RESTConfig()))(t)), 0)
		},
		"ours, in process": func(p *bowline.Plane, _ dynamic.Interface) untyped {
			return clientgo.NewDynamicSharedInformerFactory(p.Source(), 0)
		},
	} {
		plane(t, func(t *testing.T, p *bowline.Plane, _ kubernetes.Interface) {
			clients := must(dynamic.NewForConfig(p.RESTConfig()))(t)
			notified[name] = shipNotifications(t, make(p, clients), clients)
		})
	}
	for name, got := range notified {
		if got != notified["client-go"] || !strings.Contains(got, "delete") {
			t.Errorf("%s: got notifications %s, want those of client-go: %s", name, got, notified["client-go"])
		}
	}
}

// shipNotifications lists the calls of a handler while the definition of its resource is created, deleted and restored.
func shipNotifications(t *testing.T, f untyped, clients dynamic.Interface) string {
	t.Helper()
	received := &shipEvents{}
	must(f.ForResource(ships).Informer().AddEventHandler(received))(t)
	stop := make(chan struct{})
	f.Start(stop)
	time.Sleep(time.Minute) // of virtual time: longer than any back-off
	for _, name := range []string{"a", "b"} {
		must(clients.Resource(definitions).Create(t.Context(), shipDefinition(), metav1.CreateOptions{}))(t)
		time.Sleep(2 * time.Minute)
		made := unstructuredOf("example.com/v1", "Ship", name)
		must(clients.Resource(ships).Namespace("default").Create(t.Context(), made, metav1.CreateOptions{}))(t)
		synctest.Wait()
		if err := clients.Resource(definitions).Delete(t.Context(), "ships.example.com",
			metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
	}
	close(stop)
	f.Shutdown()
	return received.String()
}

func unstructuredOf(apiVersion, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetName(name)
	return u
}

func shipDefinition() *unstructured.Unstructured {
	u := unstructuredOf("apiextensions.k8s.io/v1", "CustomResourceDefinition", "ships.example.com")
	u.Object["spec"] = map[string]any{
		"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": "Ship", "plural": "ships"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
	}
	return u
}

// shipEvents writes down what a handler is told of ships.
type shipEvents struct {
	mu    sync.Mutex
	lines []string
}

func (e *shipEvents) note(what string, obj any) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = append(e.lines, fmt.Sprint(what, " ", obj.(*unstructured.Unstructured).GetName()))
}

func (e *shipEvents) OnAdd(obj any, _ bool) { e.note("add", obj) }
func (e *shipEvents) OnUpdate(_, obj any)   { e.note("update", obj) }
func (e *shipEvents) OnDelete(obj any)      { e.note("delete", obj) }

func (e *shipEvents) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.lines, ", ")
}
