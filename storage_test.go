package bowline_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// planeRun is one run of a plane on persistent storage.
type planeRun struct {
	*testing.T
	plane   *bowline.Plane
	typed   kubernetes.Interface
	dynamic dynamic.Interface
}

func begin(t *testing.T, o bowline.Options) *planeRun {
	t.Helper()
	plane, err := bowline.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plane.Close() })
	config := plane.RESTConfig()
	return &planeRun{t, plane, kubernetes.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config)}
}

func (l *planeRun) end() {
	l.Helper()
	l.must(l.plane.Close())
}

func (l *planeRun) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

var (
	knots       = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "knots"}
	definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
)

// define creates the definition of a kind whose field loops defaults to 1. All of them have the short name k,
// which only one can be granted.
func (l *planeRun) define(kind, plural string) {
	l.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{Kind: "CustomResourceDefinition", APIVersion: "apiextensions.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: plural + ".example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, Plural: plural, ShortNames: []string{"k"}},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"loops": {Type: "integer", Default: &apiextensionsv1.JSON{Raw: []byte("1")}},
					},
				}},
			}},
		},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	l.must(err)
	_, err = l.dynamic.Resource(definitions).Create(l.Context(), &unstructured.Unstructured{Object: content},
		metav1.CreateOptions{})
	l.must(err)
}

func knot(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Knot", "metadata": map[string]any{"name": name},
	}}
}

// all returns the items of a list as the server encodes them, and the revision of the list.
func (l *planeRun) all(path string) (items, revision string) {
	l.Helper()
	data, err := l.typed.CoreV1().RESTClient().Get().AbsPath(path).SetHeader("Accept",
		"application/json").DoRaw(l.Context())
	l.must(err)
	list := &unstructured.UnstructuredList{}
	l.must(list.UnmarshalJSON(data))
	_, items, _ = strings.Cut(string(data), `"items":`)
	return items, list.GetResourceVersion()
}

// apiPort returns the target port of the kubernetes Service.
func (l *planeRun) apiPort() int {
	l.Helper()
	service, err := l.typed.CoreV1().Services("default").Get(l.Context(), "kubernetes", metav1.GetOptions{})
	l.must(err)
	return service.Spec.Ports[0].TargetPort.IntValue()
}

func TestRestartedPlaneHasItsObjects(t *testing.T) {
	t.Parallel()
	storage := storetest.NewJournal()
	first := begin(t, bowline.Options{Storage: storage.Open(), Controllers: []string{bowline.NoControllers}})
	first.define("Knot", "knots")
	first.define("Anchor", "anchors") // not granted the short name, although it is listed first
	_, err := first.dynamic.Resource(knots).Namespace("default").Create(t.Context(), knot("bowline"),
		metav1.CreateOptions{})
	first.must(err)
	_, err = first.typed.CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	first.must(err)
	service, err := first.typed.CoreV1().Services("default").Create(t.Context(), serviceAt(""), metav1.CreateOptions{})
	first.must(err)

	paths := []string{"/api/v1/namespaces", "/api/v1/configmaps", "/api/v1/services",
		"/apis/scheduling.k8s.io/v1/priorityclasses",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/example.com/v1/knots"}
	want := map[string]string{}
	var revision string
	for _, path := range paths {
		want[path], revision = first.all(path)
	}
	first.end()

	restarted := begin(t, bowline.Options{Storage: storage.Open(), Controllers: []string{bowline.NoControllers}})
	for _, path := range paths {
		items, now := restarted.all(path)
		if items != want[path] || now != revision {
			t.Errorf("%s at revision %s:\n%s\nwas, at revision %s:\n%s", path, now, items, revision, want[path])
		}
	}
	if made, err := restarted.dynamic.Resource(knots).Namespace("default").Create(t.Context(), knot("other"),
		metav1.CreateOptions{}); err != nil || made.Object["loops"] != int64(1) {
		t.Errorf("a definition from before makes %v (%v)", made, err)
	}
	_, err = restarted.typed.CoreV1().Services("default").Create(t.Context(), serviceAt(service.Spec.ClusterIP),
		metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("an address that a service from before has was given to another one: %v", err)
	}
}

// serviceAt returns a Service that requests an address, or any if it is empty.
func serviceAt(address string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "s-"},
		Spec:       corev1.ServiceSpec{ClusterIP: address, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

func TestAPIServiceFollowsNewPort(t *testing.T) {
	t.Parallel()
	storage := storetest.NewJournal()
	first := begin(t, bowline.Options{Storage: storage.Open(), Listen: "127.0.0.1:0"})
	before := first.apiPort()
	first.end()
	restarted := begin(t, bowline.Options{Storage: storage.Open()})
	if now := restarted.apiPort(); now != 6443 || before == now {
		t.Errorf("the service leads to port %d, and did to %d", now, before)
	}
}

func TestStartWithTakenServiceAddress(t *testing.T) {
	t.Parallel()
	storage := storetest.NewJournal()
	first := begin(t, bowline.Options{Storage: storage.Open()})
	services := first.typed.CoreV1().Services("default")
	first.must(services.Delete(t.Context(), "kubernetes", metav1.DeleteOptions{}))
	conflicting, err := services.Create(t.Context(), serviceAt("10.0.0.1"), metav1.CreateOptions{})
	first.must(err)
	first.end()

	var logged bytes.Buffer
	second := begin(t, bowline.Options{Storage: storage.Open(), Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	services = second.typed.CoreV1().Services("default")
	if _, err := services.Get(t.Context(), "kubernetes", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the service of the API: %v", err)
	}
	second.must(services.Delete(t.Context(), conflicting.Name, metav1.DeleteOptions{}))
	second.end()
	if !strings.Contains(logged.String(), `object="Service kubernetes"`) ||
		!strings.Contains(logged.String(), "already allocated") {
		t.Errorf("the log lacks the reason: %s", &logged)
	}

	third := begin(t, bowline.Options{Storage: storage.Open()})
	if port := third.apiPort(); port != 6443 {
		t.Errorf("the service of the API is back, with port %d", port)
	}
}

// TestPendingDeletionsContinueAfterRestart checks that pending deletions continue after a restart: of a namespace by
// its controller, of a definition by the server.
func TestPendingDeletionsContinueAfterRestart(t *testing.T) {
	t.Parallel()
	storage := storetest.NewJournal()
	first := begin(t, bowline.Options{Storage: storage.Open(), Controllers: []string{bowline.NoControllers}})
	first.define("Knot", "knots")
	held := knot("held")
	held.SetFinalizers([]string{"example.com/hold"})
	_, err := first.dynamic.Resource(knots).Namespace("default").Create(t.Context(), held, metav1.CreateOptions{})
	first.must(err)
	first.must(first.dynamic.Resource(definitions).Delete(t.Context(), "knots.example.com", metav1.DeleteOptions{}))
	_, err = first.typed.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "going"}}, metav1.CreateOptions{})
	first.must(err)
	first.must(first.typed.CoreV1().Namespaces().Delete(t.Context(), "going", metav1.DeleteOptions{}))
	first.end()

	restarted := begin(t, bowline.Options{Storage: storage.Open()})
	_, err = restarted.dynamic.Resource(knots).Namespace("default").Patch(t.Context(), "held",
		"application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	restarted.must(err)
	restarted.awaitGone(definitions, "knots.example.com")
	restarted.awaitGone(corev1.SchemeGroupVersion.WithResource("namespaces"), "going")
}

// awaitGone waits until a cluster-scoped object is deleted.
func (l *planeRun) awaitGone(resource schema.GroupVersionResource, name string) {
	l.Helper()
	list, err := l.dynamic.Resource(resource).List(l.Context(),
		metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	l.must(err)
	if len(list.Items) == 0 {
		return
	}
	stream, err := l.dynamic.Resource(resource).Watch(l.Context(), metav1.ListOptions{
		FieldSelector: "metadata.name=" + name, ResourceVersion: list.GetResourceVersion(),
	})
	l.must(err)
	defer stream.Stop()
	for e := range stream.ResultChan() {
		if e.Type == "DELETED" {
			return
		}
	}
	l.Fatalf("%s %s is still there", resource.Resource, name)
}

// closing records whether Close was called.
type closing struct {
	log.Log
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return c.Log.Close()
}

func TestPlaneClosesItsStorage(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, start := range map[string]func(log.Log) (*bowline.Plane, error){
		"a plane": func(l log.Log) (*bowline.Plane, error) {
			return bowline.Start(t.Context(), bowline.Options{Storage: l})
		},
		"no such controller": func(l log.Log) (*bowline.Plane, error) {
			return bowline.Start(t.Context(), bowline.Options{Storage: l, Controllers: []string{"x"}})
		},
		"no such address": func(l log.Log) (*bowline.Plane, error) {
			return bowline.Start(t.Context(), bowline.Options{Storage: l, Listen: "nowhere"})
		},
		"a context at its end": func(l log.Log) (*bowline.Plane, error) {
			return bowline.Start(ended, bowline.Options{Storage: l})
		},
	} {
		storage := &closing{Log: memory.New()}
		plane, err := start(storage)
		if (err == nil) != (name == "a plane") && name != "a context at its end" {
			t.Errorf("%s: %v", name, err)
		}
		if plane != nil {
			if storage.closed {
				t.Errorf("%s: its storage is closed while it runs", name)
			}
			if err := plane.Close(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !storage.closed {
			t.Errorf("%s: its storage is left open", name)
		}
	}
}
