package controller_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

func TestManagerOfSeveralNamespaces(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		namespaces := client.Of[*corev1.Namespace](w.client,
			schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
		for _, name := range []string{"one", "two", "three"} {
			if _, err := namespaces.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
				metav1.CreateOptions{}); err != nil {
				w.Fatal(err)
			}
			w.create(name, "a")
		}
		m := w.manager(w.plane.RESTConfig(), controller.ManagerOptions{Namespaces: []string{"one", "two"}})
		maps := controller.ObjectsOf[*corev1.ConfigMap](m, configMaps)
		reconciled := &names{}
		if err := m.Build("maps").For(maps).Complete(reconciled); err != nil {
			w.Fatal(err)
		}
		r := run(m)
		<-m.Ready()
		if got := sortWords(reconciled.take()); got != "one/a two/a" {
			w.Errorf("got reconciles of %q", got)
		}
		w.create("three", "b")
		w.create("two", "b")
		if got := reconciled.take(); got != "two/b" {
			w.Errorf("got reconciles of %q", got)
		}
		if _, err := maps.Get("two", "b"); err != nil {
			w.Error(err)
		}
		if _, err := maps.Get("three", "b"); err == nil || len(maps.List("", nil)) != 3 ||
			len(maps.List("one", nil)) != 1 {
			w.Errorf("got %d cached objects, and %v for one of another namespace", len(maps.List("", nil)), err)
		}
		if err := r.stop(); err != nil {
			w.Error(err)
		}
	})
}

// TestManagerCachesTransformedObjects checks that Transform changes the cached objects and not the server's.
func TestManagerCachesTransformedObjects(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		w.create("default", "a")
		m := w.manager(w.plane.RESTConfig(),
			controller.ManagerOptions{Transform: func(obj client.Object) (client.Object, error) {
				obj.SetManagedFields(nil)
				return obj, nil
			}})
		maps := controller.ObjectsOf[*corev1.ConfigMap](m, configMaps)
		reconciled := &names{}
		if err := m.Build("maps").For(maps).Complete(reconciled); err != nil {
			w.Fatal(err)
		}
		r := run(m)
		<-m.Ready()
		cached, err := maps.Get("default", "a")
		if err != nil || cached.ManagedFields != nil || cached.UID == "" {
			w.Errorf("got %v, %v from the cache", cached, err)
		}
		stored, err := client.Of[*corev1.ConfigMap](w.client, configMaps).Get(w.Context(), "default", "a")
		if err != nil || stored.ManagedFields == nil {
			w.Errorf("got %v, %v from the server", stored, err)
		}
		if err := r.stop(); err != nil {
			w.Error(err)
		}
	})
}

func sortWords(words string) string {
	list := strings.Fields(words)
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestOneControllerOfTwoServers copies the config maps of one server to another, with informers of both.
func TestOneControllerOfTwoServers(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		remote, err := bowline.Start(w.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}})
		if err != nil {
			w.Fatal(err)
		}
		defer remote.Close()
		local := w.manager(w.plane.RESTConfig(), controller.ManagerOptions{})
		target := w.manager(remote.RESTConfig(), controller.ManagerOptions{Source: remote.Source()})
		originals := informer.For[*corev1.ConfigMap](local.Informers(), configMaps)
		cachedCopies := informer.For[*corev1.ConfigMap](target.Informers(), configMaps)
		copies := client.Of[*corev1.ConfigMap](target.Client(), configMaps)
		local.Add(controller.Options{
			Name:    "copy",
			Sources: []controller.Source{controller.For(originals), controller.For(cachedCopies)},
			Caches:  []*informer.Factory{local.Informers(), target.Informers()},
			Reconciler: controller.Func(func(ctx context.Context, r controller.Request) (controller.Result, error) {
				original, err := originals.Lister().Get(r.Namespace, r.Name)
				if err != nil {
					return controller.Result{}, ignoreNotFound(err)
				}
				if _, err := cachedCopies.Lister().Get(r.Namespace, r.Name); err == nil {
					return controller.Result{}, nil
				}
				copied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name},
					Data: original.Data}
				_, err = copies.Create(ctx, copied, metav1.CreateOptions{})
				return controller.Result{}, err
			}),
		})
		r, targetRun := run(local), run(target)
		<-local.Ready()
		w.create("default", "a")
		synctest.Wait()
		for range 2 { // the second time because somebody deletes the copy
			if _, err := copies.Get(w.Context(), "default", "a"); err != nil {
				w.Error(err)
			}
			if err := copies.Delete(w.Context(), "default", "a", metav1.DeleteOptions{}); err != nil {
				w.Error(err)
			}
			synctest.Wait()
		}
		if err := r.stop(); err != nil {
			w.Error(err)
		}
		if err := targetRun.stop(); err != nil {
			w.Error(err)
		}
	})
}

// TestManagerStopsInOrder stops a manager during a reconciliation: the reconciler can still read its writes from the
// cache, its event is written, and the lease is released last.
func TestManagerStopsInOrder(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		m := w.manager(w.plane.RESTConfig(),
			controller.ManagerOptions{LeaderElection: &controller.LeaderElection{Name: "loop", Identity: "me"}})
		events := m.Recorder("tester")
		maps := informer.For[*corev1.ConfigMap](m.Informers(), configMaps)
		w.create("default", "a")
		m.Add(controller.Options{Name: "maps", Sources: []controller.Source{controller.For(maps)},
			Reconciler: controller.Func(
				func(ctx context.Context, r controller.Request) (controller.Result, error) {
					if r.Name != "a" {
						return controller.Result{}, nil
					}
					<-ctx.Done()
					created := w.create("default", "late")
					time.Sleep(time.Second)
					if _, err := maps.Lister().Get("default", "late"); err != nil {
						w.Errorf("the cache stopped before the worker: %v", err)
					}
					if holder := w.holder(); holder != "me" {
						w.Errorf("the lease is held by %q while a worker works", holder)
					}
					events.Normal(created, "Made", "at the last moment")
					return controller.Result{}, nil
				})})
		r := run(m)
		<-m.Ready()
		synctest.Wait()
		if err := r.stop(); err != nil {
			w.Error(err)
		}
		if holder := w.holder(); holder != "" {
			w.Errorf("the lease is held by %q", holder)
		}
		list, err := client.Of[*corev1.Event](w.client,
			schema.GroupVersionResource{Version: "v1", Resource: "events"}).List(w.Context(), "default",
			metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 || list.Items[0].Message != "at the last moment" {
			w.Errorf("got events %v, %v", list, err)
		}
	})
}

func TestHealthReportsUnreadyParts(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		m := w.manager(w.plane.RESTConfig(), controller.ManagerOptions{Metrics: controller.NewMetrics()})
		maps := informer.For[*corev1.ConfigMap](m.Informers(), configMaps)
		free := make(chan struct{})
		m.Add(controller.Options{Name: "maps", Timeout: time.Minute, Sources: []controller.Source{controller.For(maps)},
			Reconciler: controller.Func(
				func(_ context.Context, r controller.Request) (controller.Result, error) {
					if r.Name == "stuck" {
						<-free
					}
					return controller.Result{}, nil
				})})
		absent := informer.For[*corev1.ConfigMap](m.Informers(),
			schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "knots"})
		informer.For[*corev1.ConfigMap](m.NewInformers(informer.FactoryOptions{Lazy: true}),
			schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "ropes"})
		if code, body := probe(m, "/readyz"); code != http.StatusInternalServerError ||
			!strings.Contains(body, "configmaps") {
			w.Errorf("before Run: got %d %s", code, body)
		}
		r := run(m)
		<-m.Ready()
		if code, body := probe(m, "/readyz"); code != http.StatusInternalServerError ||
			!strings.Contains(body, "[-]caches failed: ") ||
			!strings.Contains(body, "knots.example.com") || !strings.Contains(body, "ropes.example.com") ||
			strings.Contains(body, "configmaps") {
			w.Errorf("while a resource is not served: got %d %s", code, body)
		}
		_ = absent
		w.create("default", "stuck")
		time.Sleep(2 * time.Minute)
		if code, body := probe(m, "/readyz"); code != http.StatusInternalServerError ||
			!strings.Contains(body,
				"[-]controller/maps failed: these reconciles do not return: default/stuck (for 2m0s)") {
			w.Errorf("while a reconcile is stuck: got %d %s", code, body)
		}
		if code, body := probe(m, "/healthz"); code != http.StatusOK ||
			!strings.HasSuffix(body, "[+]controller/maps ok\nhealthz check passed\n") {
			w.Errorf("healthz: got %d %s", code, body)
		}
		if code, body := probe(m, "/metrics"); code != http.StatusOK ||
			!strings.Contains(body, `controller_runtime_active_workers{controller="maps"} 1`) ||
			!strings.Contains(body, `informer_objects{resource="configmaps",`) {
			w.Errorf("metrics: got %d %s", code, body)
		}
		close(free)
		if err := r.stop(); err != nil {
			w.Error(err)
		}
	})
}

func TestHealthIsServed(t *testing.T) {
	t.Parallel()
	inUse, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := inUse.Addr().String()
	m, err := controller.NewManager(&rest.Config{Host: "http://unused"},
		controller.ManagerOptions{HealthAddress: address})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Run(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "serving health and metrics: listen tcp "+address) {
		t.Errorf("got error %v for an address in use", err)
	}
	inUse.Close()
	m, err = controller.NewManager(&rest.Config{Host: "http://unused"},
		controller.ManagerOptions{HealthAddress: address})
	if err != nil {
		t.Fatal(err)
	}
	r := run(m)
	<-m.Ready()
	answer, err := http.Get(fmt.Sprintf("http://%s/readyz", address))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || !strings.HasSuffix(string(body), "readyz check passed\n") {
		t.Errorf("%d %s %v", answer.StatusCode, body, err)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
