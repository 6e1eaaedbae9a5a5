package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// childOwnWrites is the argument of a process whose controllers write.
const childOwnWrites = "child-own-writes"

// ownWrites is what waiting for the cache to show a controller's writes costs a controller that does nothing but write.
func ownWrites() measurement {
	return measurement{
		figures: []figure{
			{"a controller writes 1,000 statuses over TLS, 4 workers: time, waiting for its own writes / not waiting", times, 1.15},
			{"the same by one worker, waiting / not waiting", times, 1.15},
		},
		starts: true,
		run:    inChild(childOwnWrites),
	}
}

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

const (
	ownObjects = 1_000
	ownRounds  = 5
)

// statusWriter is a controller that writes the status of whatever it is asked for.
type statusWriter struct {
	controller *controller.Controller
	pods       client.Resource[*corev1.Pod]
	ask        controller.Trigger
	count      atomic.Int64
	left       atomic.Int64
	ended      chan error // gets one when nothing is left
}

// newStatusWriter makes one that waits until the caches show what it wrote.
func newStatusWriter(c *client.Client, workers int, awaited ...*informer.Factory) *statusWriter {
	w := &statusWriter{pods: client.Of[*corev1.Pod](c, podResource), ended: make(chan error, ownObjects)}
	w.controller = controller.New(controller.Options{
		Name: "writer", Workers: workers, Reconciler: w, Sources: []controller.Source{&w.ask}, Caches: awaited,
	})
	return w
}

func (w *statusWriter) Reconcile(ctx context.Context, r controller.Request) (controller.Result, error) {
	status := fmt.Appendf(nil, `{"status":{"message":"written %d times"}}`, w.count.Add(1))
	_, err := w.pods.PatchStatus(ctx, r.Namespace, r.Name, types.MergePatchType, status, metav1.PatchOptions{})
	if left := w.left.Add(-1); left == 0 || err != nil {
		w.ended <- err
	}
	return controller.Result{}, controller.Terminal(err)
}

// round is how long it takes to write all statuses once.
func (w *statusWriter) round() (time.Duration, error) {
	runtime.GC()
	w.left.Store(ownObjects)
	begun := time.Now()
	for i := range ownObjects {
		w.ask.Add(controller.Request{Namespace: metav1.NamespaceDefault, Name: pod(i).Name})
	}
	err := <-w.ended
	return time.Since(begun), err
}

// measureOwnWrites runs controllers on one cache of Pods, of which some wait for the cache, in turns.
func measureOwnWrites(ctx context.Context, _ []string) error {
	plane, err := bowline.Start(ctx, bowline.Options{Listen: "127.0.0.1:0", Controllers: []string{}})
	if err != nil {
		return err
	}
	defer plane.Close()
	config, err := plane.TLSConfig()
	if err != nil {
		return err
	}
	config.QPS = -1
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := drive(ctx, 16, ownObjects, createPod(ctx, clients, metav1.NamespaceDefault)); err != nil {
		return err
	}
	ours, err := client.New(config)
	if err != nil {
		return err
	}
	caches := informer.NewFactory(client.NewSource(ours), informer.FactoryOptions{Server: ours.Server()})
	cached := informer.For[*corev1.Pod](caches, podResource)

	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running.Go(func() { caches.Run(ctx) })
	<-cached.Synced()
	var figures []float64
	for _, workers := range []int{4, 1} {
		waiting, hasty := newStatusWriter(ours, workers, caches), newStatusWriter(ours, workers)
		for _, w := range []*statusWriter{waiting, hasty} {
			running.Go(func() { _ = w.controller.Run(ctx) })
			<-w.controller.Ready()
		}
		compared, err := compareWriters(waiting, hasty)
		if err != nil {
			return err
		}
		figures = append(figures, compared)
	}
	return printJSON(figures)
}

// compareWriters is the median time of the one divided by that of the other.
func compareWriters(waiting, hasty *statusWriter) (float64, error) {
	var waited, hurried []time.Duration
	for range ownRounds {
		for w, times := range map[*statusWriter]*[]time.Duration{waiting: &waited, hasty: &hurried} { // in any order
			took, err := w.round()
			if err != nil {
				return 0, err
			}
			*times = append(*times, took)
		}
	}
	return ratio(medianOf(waited), medianOf(hurried)), nil
}
