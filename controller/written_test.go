package controller_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// runRequests runs a controller with caches that lag two seconds behind, and adds requests to its trigger, one per
// second.
func runRequests(w *testPlane, m *controller.Manager, f controller.Func, requests ...string) {
	w.Helper()
	var trigger controller.Trigger
	m.Add(controller.Options{Name: "test", Sources: []controller.Source{&trigger}, Reconciler: f})
	r := run(m)
	<-m.Ready()
	time.Sleep(3 * time.Second)
	for _, name := range requests {
		trigger.Add(controller.Request{Namespace: "default", Name: name})
		time.Sleep(time.Second)
	}
	time.Sleep(time.Minute)
	if err := r.stop(); err != nil {
		w.Error(err)
	}
	if log := w.log.String(); strings.Contains(log, "a cache does not show the last write") {
		w.Errorf("got log %s", log)
	}
}

func (w *testPlane) laggingManager() *controller.Manager {
	return w.manager(w.plane.RESTConfig(),
		controller.ManagerOptions{Source: delayedSource{w.plane.Source(), 2 * time.Second}})
}

// TestControllerReadsItsDeletions deletes an object with a finalizer and one without.
func TestControllerReadsItsDeletions(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		m := w.laggingManager()
		maps := informer.For[*corev1.ConfigMap](m.Informers(), configMaps)
		writer := client.Of[*corev1.ConfigMap](m.Client(), configMaps)
		w.create("default", "free")
		held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "held",
			Finalizers: []string{"example.com/held"}}}
		if _, err := w.maps.Create(w.Context(), held, metav1.CreateOptions{}); err != nil {
			w.Fatal(err)
		}
		var actions []string
		runRequests(w, m, func(ctx context.Context, r controller.Request) (controller.Result, error) {
			cached, err := maps.Lister().Get(r.Namespace, r.Name)
			switch {
			case err != nil:
				actions = append(actions, r.Name+" is deleted")
			case cached.DeletionTimestamp != nil:
				actions = append(actions, "release "+r.Name)
				updated := cached.DeepCopy()
				updated.Finalizers = nil
				_, err = writer.Update(ctx, updated, metav1.UpdateOptions{})
				return controller.Result{}, err
			default:
				actions = append(actions, "delete "+r.Name)
				return controller.Result{}, writer.Delete(ctx, r.Namespace, r.Name, metav1.DeleteOptions{})
			}
			return controller.Result{}, nil
		}, "free", "free", "held", "held", "held")
		if got := strings.Join(actions,
			", "); got != "delete free, free is deleted, delete held, release held, held is deleted" {
			w.Errorf("got actions %q", got)
		}
	})
}

// TestControllerReadsWritesOfOtherRequests assigns each object the next free number.
func TestControllerReadsWritesOfOtherRequests(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		m := w.laggingManager()
		maps := informer.For[*corev1.ConfigMap](m.Informers(), configMaps)
		writer := client.Of[*corev1.ConfigMap](m.Client(), configMaps)
		var given []string
		runRequests(w, m, func(ctx context.Context, r controller.Request) (controller.Result, error) {
			next := strconv.Itoa(len(maps.Lister().List("default",
				labels.SelectorFromSet(labels.Set{"numbered": "yes"}))))
			given = append(given, r.Name+next)
			_, err := writer.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: r.Namespace, Name: r.Name, Labels: map[string]string{"numbered": "yes"}}},
				metav1.CreateOptions{})
			return controller.Result{}, err
		}, "a", "b", "c")
		if got := strings.Join(given, " "); got != "a0 b1 c2" {
			w.Errorf("got numbers %q", got)
		}
	})
}

// TestControllerReadsWritesInFilteredCache has a cache of the objects with a label, another that is never synced,
// and one of other objects.
func TestControllerReadsWritesInFilteredCache(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		m := w.laggingManager()
		scope := func(value string) informer.Scope {
			return informer.Scope{Labels: labels.SelectorFromSet(labels.Set{"made": value})}
		}
		selected := informer.For[*corev1.ConfigMap](m.Informers(), configMaps, scope("yes"))
		informer.For[*corev1.ConfigMap](m.Informers(), configMaps, scope("no"))
		unserved := configMaps
		unserved.Version = "v9" // not served
		informer.For[*corev1.ConfigMap](m.Informers(), unserved)
		writer := client.Of[*corev1.ConfigMap](m.Client(), configMaps)
		creations := 0
		start := time.Now()
		var took time.Duration
		runRequests(w, m, func(ctx context.Context, r controller.Request) (controller.Result, error) {
			took = time.Since(start)
			if selected.Indexer().Len() > 0 {
				return controller.Result{}, nil
			}
			creations++
			_, err := writer.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: r.Namespace, GenerateName: "x-", Labels: map[string]string{"made": "yes"}}},
				metav1.CreateOptions{})
			return controller.Result{}, err
		}, "a", "a", "a")
		if creations != 1 || took > 8*time.Second {
			w.Errorf("got %d creations, the last run after %v", creations, took)
		}
	})
}

// TestControllerDoesNotWaitForTheCachesOfAnotherServer reads one server and writes to another, whose revisions are far
// ahead.
func TestControllerDoesNotWaitForTheCachesOfAnotherServer(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		remote, err := bowline.Start(w.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}})
		if err != nil {
			w.Fatal(err)
		}
		defer remote.Close()
		c, err := client.New(remote.RESTConfig())
		if err != nil {
			w.Fatal(err)
		}
		namespaces := client.Of[*corev1.Namespace](c,
			schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
		copies := client.Of[*corev1.ConfigMap](c, configMaps)
		for k := range 50 {
			if _, err := namespaces.Create(w.Context(),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n" + strconv.Itoa(k)}},
				metav1.CreateOptions{}); err != nil {
				w.Fatal(err)
			}
		}
		m := w.manager(w.plane.RESTConfig(), controller.ManagerOptions{})
		informer.For[*corev1.ConfigMap](m.Informers(), configMaps)
		runs := 0
		runRequests(w, m, func(ctx context.Context, r controller.Request) (controller.Result, error) {
			runs++
			_, err := copies.Create(ctx,
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "x-"}},
				metav1.CreateOptions{})
			return controller.Result{RequeueAfter: time.Second}, err
		}, "a")
		if runs < 55 {
			w.Errorf("got %d runs in a minute, want one each second", runs)
		}
	})
}
