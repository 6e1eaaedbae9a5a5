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

// childOwnWrites is the argument of the process with the writing controllers.
const childOwnWrites = "child-own-writes"

// ownWrites measures the cost of waiting until the cache reflects a controller's own writes, for a controller
// that only writes.
func ownWrites() measurement {
	return measurement{
		figures: []figure{
			{"a controller writes 1,000 statuses over TLS, 4 workers: time, waiting for its own writes / not waiting",
				times, 1.15},
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

// statusWriter is a controller that writes the status of each requested object.
type statusWriter struct {
	controller *controller.Controller
	pods       client.Resource[*corev1.Pod]
	ask        controller.Trigger
	count      atomic.Int64
	left       atomic.Int64
	ended      chan error // receives a result when nothing is left
}

// newStatusWriter returns a controller that waits until the given caches reflect its writes.
func newStatusWriter(c *client.Client, awaited ...*informer.Factory) *statusWriter {
	w := &statusWriter{pods: client.Of[*corev1.Pod](c, podResource), ended: make(chan error, ownObjects)}
	w.controller = controller.New(controller.Options{
		Name: "writer", Workers: 4, Reconciler: w, Sources: []controller.Source{&w.ask}, Caches: awaited,
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

// round returns the time to write all statuses once.
func (w *statusWriter) round() (time.Duration, error) {
	runtime.GC()
	w.left.Store(ownObjects)
	start := time.Now()
	for i := range ownObjects {
		w.ask.Add(controller.Request{Namespace: metav1.NamespaceDefault, Name: pod(i).Name})
	}
	err := <-w.ended
	return time.Since(start), err
}

// measureOwnWrites runs controllers on one cache of Pods, with and without waiting for it, in turns.
func measureOwnWrites(ctx context.Context, _ []string) error {
	plane, err := bowline.Start(ctx,
		bowline.Options{Listen: "127.0.0.1:0", Controllers: []string{bowline.NoControllers}})
	if err != nil {
		return err
	}
	defer plane.Close()
	config, err := plane.SocketConfig()
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
	waiting, hasty := newStatusWriter(ours, caches), newStatusWriter(ours)
	for _, w := range []*statusWriter{waiting, hasty} {
		running.Go(func() { _ = w.controller.Run(ctx) })
		<-w.controller.Ready()
	}
	compared, err := compareWriters(waiting, hasty)
	if err != nil {
		return err
	}
	return printJSON([]float64{compared})
}

// compareWriters returns the median time of waiting divided by that of hasty.
func compareWriters(waiting, hasty *statusWriter) (float64, error) {
	var waited, hurried []time.Duration
	for range ownRounds {
		for w, times := range map[*statusWriter]*[]time.Duration{waiting: &waited, hasty: &hurried} { // in random order
			took, err := w.round()
			if err != nil {
				return 0, err
			}
			*times = append(*times, took)
		}
	}
	return ratio(medianOf(waited), medianOf(hurried)), nil
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }
