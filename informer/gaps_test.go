package informer_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

// TestFaultsLeaveNoGaps injects each fault at each event of a stream, over the connection of a real server, and
// compares the cache, and the state that a handler derives from its notifications, with the server's objects.
func TestFaultsLeaveNoGaps(t *testing.T) {
	t.Parallel()
	for name, fault := range connectionFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("protobuf, in pages", func(t *testing.T) {
				t.Parallel()
				injectAtEachEvent[*corev1.ConfigMap](t, fault, client.NewSource)
			})
			t.Run("JSON, streamed", func(t *testing.T) {
				t.Parallel()
				injectAtEachEvent[*unstructured.Unstructured](t, fault, client.NewStreamingSource)
			})
		})
	}
}

// injectAtEachEvent injects a fault at each event, each time with its own informer and objects.
func injectAtEachEvent[T client.Object](t *testing.T, fault fault, source func(*client.Client) client.Source) {
	synctest.Test(t, func(t *testing.T) {
		plane, err := bowline.Start(t.Context(), bowline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer plane.Close()
		at := 1
		for ; ; at++ {
			f := &faulty{fault: fault, at: at}
			runInformer[T](t, plane.RESTConfig(), f, source)
			if !f.wasInjected() {
				break
			}
		}
		if at < 8 {
			t.Errorf("the fault was injected at %d events only", at-1)
		}
	})
}

// runInformer runs an informer while objects are created, changed and deleted.
func runInformer[T client.Object](t *testing.T, config *rest.Config, f *faulty,
	source func(*client.Client) client.Source) {
	t.Helper()
	run := fmt.Sprintf("run-%d", f.at)
	clean := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { f.next = next; return f })
	c, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	i := informer.New(source(c), configmaps, informer.Options[T]{
		Labels: labels.SelectorFromSet(labels.Set{"run": run}), Log: slog.New(slog.DiscardHandler),
	})
	notified := &replica[T]{t: t, objects: map[string]string{}}
	i.AddHandler(notified)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	change(t, clean, run, "a1 b1")
	running.Go(func() { i.Run(ctx) })
	time.Sleep(time.Second)
	change(t, clean, run, "c1 a2 -b b2 c2 -a d1 d2")
	time.Sleep(270 * time.Second) // silence is noticed after three minutes, and watches end by themselves after five
	synctest.Wait()
	stored := map[string]string{}
	list, err := clean.List(t.Context(), metav1.ListOptions{LabelSelector: "run=" + run})
	if err != nil {
		t.Fatal(err)
	}
	for _, cm := range list.Items {
		stored[cm.Name] = cm.ResourceVersion
	}
	cached := map[string]string{}
	for obj := range i.Indexer().All() {
		cached[obj.GetName()] = obj.GetResourceVersion()
	}
	if len(stored) != 3 || !maps.Equal(cached, stored) || !maps.Equal(notified.objects, stored) {
		t.Errorf("fault at event %d: cache has %v, handler got %v, server has %v", f.at, cached, notified.objects,
			stored)
	}
	cancel()
	running.Wait()
}

// change writes objects: each word is a letter for the object and a digit for its value, or has a minus for a deletion.
// Pauses between the words make each write a separate event.
func change(t *testing.T, maps typedcorev1.ConfigMapInterface, run, changes string) {
	t.Helper()
	full := func(letter string) string { return letter + "-" + run }
	for _, step := range strings.Fields(changes) {
		name, value := step[:1], step[1:]
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: full(name), Labels: map[string]string{"run": run}},
			Data: map[string]string{"v": value}}
		var err error
		switch {
		case name == "-":
			err = maps.Delete(t.Context(), full(value), metav1.DeleteOptions{})
		default:
			if _, err = maps.Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
				_, err = maps.Create(t.Context(), cm, metav1.CreateOptions{})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// replica is the state that a handler derives from its notifications.
type replica[T client.Object] struct {
	t       *testing.T
	objects map[string]string
}

func (f *replica[T]) OnAdd(obj T, _ bool) {
	if _, known := f.objects[obj.GetName()]; known {
		f.t.Errorf("%s was added twice", obj.GetName())
	}
	f.objects[obj.GetName()] = obj.GetResourceVersion()
}

func (f *replica[T]) OnUpdate(old, new T) {
	if f.objects[old.GetName()] != old.GetResourceVersion() {
		f.t.Errorf("%s was changed from %s, but had been at %s", old.GetName(), old.GetResourceVersion(),
			f.objects[old.GetName()])
	}
	f.objects[new.GetName()] = new.GetResourceVersion()
}

func (f *replica[T]) OnDelete(obj T, _ bool) {
	if _, known := f.objects[obj.GetName()]; !known {
		f.t.Errorf("%s was deleted, but did not exist", obj.GetName())
	}
	delete(f.objects, obj.GetName())
}
