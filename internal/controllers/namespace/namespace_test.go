package namespace_test

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/namespace"
)

var (
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	configmaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	nodes       = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	knots = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "knots"}
)

// fixture is a plane in a bubble that runs only the namespace controller, with a namespace "doomed".
type fixture struct {
	t          *testing.T
	client     *client.Client
	namespaces client.Resource[*corev1.Namespace]
}

// fixtureOptions configures a fixture.
type fixtureOptions struct {
	// through wraps the transport of the controller's requests, including those of its informers; nil for
	// none.
	through func(http.RoundTripper) http.RoundTripper
	// before runs before the controller starts.
	before func(w *fixture)
}

func runFixture(t *testing.T, test func(w *fixture)) {
	t.Helper()
	runFixtureWith(t, fixtureOptions{}, test)
}

func runFixtureWith(t *testing.T, on fixtureOptions, test func(w *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		plane, err := bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}})
		if err != nil {
			t.Fatal(err)
		}
		defer plane.Close()
		options := controller.ManagerOptions{Mutations: informer.DetectMutations(t), Log: slog.New(slog.DiscardHandler)}
		config := plane.RESTConfig()
		if on.through == nil {
			options.Source = plane.Source()
		} else {
			config.Wrap(on.through)
		}
		m, err := controller.NewManager(config, options)
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.New(plane.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		w := &fixture{t: t, client: c, namespaces: client.Of[*corev1.Namespace](c, namespaces)}
		create(w, namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "doomed"}})
		if on.before != nil {
			on.before(w)
		}
		namespace.Add(m)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { m.Run(ctx) })
		<-m.Ready()
		test(w)
		cancel()
		running.Wait()
	})
}

// create creates an object.
func create[T client.Object](w *fixture, resource schema.GroupVersionResource, obj T) {
	w.t.Helper()
	if _, err := client.Of[T](w.client, resource).Create(w.t.Context(), obj, metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("creating %s: %v", obj.GetName(), err)
	}
}

// get returns an object of the namespace, or the zero value if it does not exist.
func get[T client.Object](w *fixture, resource schema.GroupVersionResource, name string) T {
	w.t.Helper()
	obj, err := client.Of[T](w.client, resource).Get(w.t.Context(), "doomed", name)
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	return obj
}

func (w *fixture) configMaps() client.Resource[*corev1.ConfigMap] {
	return client.Of[*corev1.ConfigMap](w.client, configmaps)
}

// doom deletes the namespace.
func (w *fixture) doom() {
	w.t.Helper()
	if err := w.namespaces.Delete(w.t.Context(), "", "doomed", metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// remains reports whether the namespace exists.
func (w *fixture) remains() bool {
	w.t.Helper()
	_, err := w.namespaces.Get(w.t.Context(), "", "doomed")
	if err != nil && !apierrors.IsNotFound(err) {
		w.t.Fatal(err)
	}
	return err == nil
}

// expectConditions compares the namespace's true conditions, by type, reason and message.
func (w *fixture) expectConditions(want ...string) {
	w.t.Helper()
	ns, err := w.namespaces.Get(w.t.Context(), "", "doomed")
	if err != nil {
		w.t.Fatal(err)
	}
	var got []string
	for _, c := range ns.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			got = append(got, string(c.Type)+": "+c.Reason+": "+c.Message)
		}
	}
	if len(ns.Status.Conditions) != 5 || ns.Status.Phase != corev1.NamespaceTerminating || !slices.Equal(got, want) {
		w.t.Errorf("got phase %s, %d conditions, of which true:\n%s\nwant\n%s", ns.Status.Phase,
			len(ns.Status.Conditions), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func meta(name string, finalizers ...string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "doomed", Name: name, Finalizers: finalizers}
}

func boundPod(name, node string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: meta(name), Spec: corev1.PodSpec{
		NodeName:   node,
		Containers: []corev1.Container{{Name: "c", Image: "i"}},
	}}
}

func TestNamespacesAreDeletedWithTheirContent(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		create(w, configmaps, &corev1.ConfigMap{ObjectMeta: meta("a")})
		create(w, configmaps, &corev1.ConfigMap{ObjectMeta: meta("b")})
		create(w, pods, boundPod("p", ""))
		w.doom()
		time.Sleep(time.Second)
		if w.remains() {
			w.t.Error("the namespace still exists")
		}
	})
}

func TestEmptyNamespacesAreDeletedImmediately(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		create(w, namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
		w.doom()
		synctest.Wait()
		if w.remains() {
			w.t.Error("the namespace still exists")
		}
		if _, err := w.namespaces.Get(w.t.Context(), "", "other"); err != nil {
			w.t.Errorf("another namespace: %v", err)
		}
	})
}

func TestStatusReportsRemainingContent(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		create(w, configmaps, &corev1.ConfigMap{ObjectMeta: meta("held", "example.com/hold")})
		create(w, configmaps, &corev1.ConfigMap{ObjectMeta: meta("free")})
		w.doom()
		time.Sleep(5 * time.Minute)
		w.expectConditions(
			"NamespaceContentRemaining: SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances",
			"NamespaceFinalizersRemaining: SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
		)
		_, err := client.Of[*corev1.ConfigMap](w.client, configmaps).Patch(w.t.Context(), "doomed", "held", "",
			types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if w.remains() {
			w.t.Error("the namespace still exists after the finalizer was removed")
		}
	})
}

func TestPodsAreDeletedFirst(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		pod := boundPod("held", "")
		pod.Finalizers = []string{"example.com/hold"}
		create(w, pods, pod)
		create(w, configmaps, &corev1.ConfigMap{ObjectMeta: meta("needed")})
		w.doom()
		time.Sleep(5 * time.Minute)
		if _, err := client.Of[*corev1.ConfigMap](w.client, configmaps).Get(w.t.Context(), "doomed",
			"needed"); err != nil {
			w.t.Errorf("ConfigMap of a namespace with a pod: %v", err)
		}
	})
}

func TestGracePeriodRequiresAnExistingNode(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		create(w, nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "real"}})
		create(w, pods, boundPod("run", "real"))
		create(w, pods, boundPod("lost", "missing"))
		w.doom()
		time.Sleep(time.Minute)
		all := client.Of[*corev1.Pod](w.client, pods)
		list, err := all.List(w.t.Context(), "doomed", metav1.ListOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(list.Items) != 1 || list.Items[0].Name != "run" {
			w.t.Fatalf("got %d pods, want only the one on the existing node", len(list.Items))
		}
		w.expectConditions("NamespaceContentRemaining: SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances")
		if err := all.Delete(w.t.Context(), "doomed", "run",
			metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if w.remains() {
			w.t.Error("the namespace still exists after the pod was deleted")
		}
	})
}

func TestCustomResourcesAreDeleted(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		create(w, definitions, unstructuredOf(w.t,
			`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"knots.example.com"},
			"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"knots","kind":"Knot"},"versions":[{"name":"v1","served":true,"storage":true,
			"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`))
		create(w, knots, unstructuredOf(w.t,
			`{"apiVersion":"example.com/v1","kind":"Knot","metadata":{"name":"held","namespace":"doomed","finalizers":["example.com/hold"]}}`))
		w.doom()
		time.Sleep(5 * time.Minute)
		w.expectConditions(
			"NamespaceContentRemaining: SomeResourcesRemain: Some resources are remaining: knots.example.com has 1 resource instances",
			"NamespaceFinalizersRemaining: SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
		)
		_, err := client.Of[*unstructured.Unstructured](w.client, knots).Patch(w.t.Context(), "doomed", "held", "",
			types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if w.remains() {
			w.t.Error("the namespace still exists")
		}
	})
}

func unstructuredOf(t *testing.T, json string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON([]byte(json)); err != nil {
		t.Fatal(err)
	}
	return obj
}
