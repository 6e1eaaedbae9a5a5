package bowline_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline"
)

// startPlane starts a plane that is closed when the test ends.
func startPlane(t testing.TB, o bowline.Options) (*bowline.Plane, kubernetes.Interface) {
	t.Helper()
	plane, err := bowline.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Close(); err != nil {
			t.Errorf("closing the plane: %v", err)
		}
	})
	clients, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return plane, clients
}

// journal records the calls of an informer's handlers in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(what string, obj any) {
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	meta := obj.(metav1.Object)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf("%s %s", what, meta.GetName()))
}

func (j *journal) handlers() cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { j.add("add", obj) },
		DeleteFunc: func(obj any) { j.add("delete", obj) },
	}
}

func (j *journal) has(line string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Contains(j.lines, line)
}

// TestPlaneRunsInBubble runs the server, its namespace controller and client-go's informers in one synctest
// bubble, in which days pass in no time.
func TestPlaneRunsInBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, clients := startPlane(t, bowline.Options{})
		ctx := t.Context()
		factory := informers.NewSharedInformerFactory(clients, time.Hour)
		var namespaces, maps journal
		factory.Core().V1().Namespaces().Informer().AddEventHandler(namespaces.handlers())
		factory.Core().V1().ConfigMaps().Informer().AddEventHandler(maps.handlers())
		stop := make(chan struct{})
		factory.Start(stop)
		factory.WaitForCacheSync(stop)

		began := time.Now()
		for day := range 3 {
			name := fmt.Sprintf("day-%d", day)
			mustDo(t, func() error {
				_, err := clients.CoreV1().Namespaces().Create(ctx,
					&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
				return err
			})
			mustDo(t, func() error {
				_, err := clients.CoreV1().ConfigMaps(name).Create(ctx,
					&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "in-" + name}}, metav1.CreateOptions{})
				return err
			})
			time.Sleep(24 * time.Hour)
			synctest.Wait()
			if !namespaces.has("add "+name) || !maps.has("add in-"+name) {
				t.Errorf("%s: the informers have %v and %v", name, namespaces.lines, maps.lines)
			}
			mustDo(t, func() error { return clients.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}) })
			time.Sleep(time.Minute)
			synctest.Wait()
			if _, err := clients.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("%s a minute after its deletion: %v", name, err)
			}
			if !namespaces.has("delete "+name) || !maps.has("delete in-"+name) {
				t.Errorf("%s: the informers have %v and %v", name, namespaces.lines, maps.lines)
			}
		}
		if took := time.Since(began); took != 3*(24*time.Hour+time.Minute) {
			t.Errorf("three days took %s", took)
		}
		close(stop)
		factory.Shutdown()
	})
}

func mustDo(t testing.TB, f func() error) {
	t.Helper()
	if err := f(); err != nil {
		t.Fatal(err)
	}
}

// TestCloseInBubbleLeavesNoGoroutine relies on synctest, which fails if a goroutine is left in the bubble.
func TestCloseInBubbleLeavesNoGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plane, clients := startPlane(t, bowline.Options{})
		watching, err := clients.CoreV1().ConfigMaps("").Watch(context.Background(),
			metav1.ListOptions{LabelSelector: "nobodys"})
		if err != nil {
			t.Fatal(err)
		}
		mustDo(t, plane.Close)
		if e, open := <-watching.ResultChan(); open {
			t.Errorf("after Close: %v", e)
		}
		mustDo(t, plane.Close) // Close is idempotent
		if _, err := clients.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err == nil {
			t.Error("a plane that is closed answers")
		}
	})
}
