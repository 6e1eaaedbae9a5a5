package main

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// childReconcile is the argument of a process that reconciles.
const childReconcile = "child-reconcile"

// reconciles measures what a controller costs that finds nothing to do.
func reconciles() measurement {
	return measurement{
		figures: []figure{
			{"reconcile of 10,000 objects, no-op, from when the cache is filled", milliseconds, 100},
			{"the same, each asked for by a trigger", milliseconds, 100},
		},
		starts: true,
		run:    inChild(childReconcile),
	}
}

// measureReconciles runs a controller on the objects of a plane in its process, and prints how long it took, in milliseconds,
// from when the cache was filled until each object was reconciled, and from when all were asked for until each was again.
func measureReconciles(ctx context.Context, _ []string) error {
	const objects, workers = 10_000, 4
	plane, err := bowline.Start(ctx, bowline.Options{Controllers: []string{}})
	if err != nil {
		return err
	}
	defer plane.Close()
	if err := fillConfigMaps(ctx, plane, objects); err != nil {
		return err
	}
	m, err := controller.NewManager(plane.RESTConfig(), controller.ManagerOptions{Source: plane.Source(), Metrics: controller.NewMetrics()})
	if err != nil {
		return err
	}
	maps := informer.For[*corev1.ConfigMap](m.Informers(), schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})
	idle := &idler{cached: maps.Lister(), all: make(chan struct{}, 1)}
	m.Add(controller.Options{
		Name: "noop", Workers: workers, Reconciler: idle, Sources: []controller.Source{controller.For(maps), &idle.again},
	})
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	first := idle.reconciled(objects, func() {
		go func() { ended <- m.Run(running) }()
		<-maps.Synced()
	}, func() {})
	second := idle.reconciled(objects, func() {}, func() {
		for _, cm := range maps.Indexer().List() {
			idle.again.Add(informer.KeyOf(cm))
		}
	})
	stop()
	if err := <-ended; err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode([]float64{first.Seconds() * 1000, second.Seconds() * 1000})
}

// idler is a reconciler that finds nothing to do.
type idler struct {
	cached informer.Lister[*corev1.ConfigMap]
	again  controller.Trigger
	left   atomic.Int64
	all    chan struct{} // gets one when nothing is left
}

func (i *idler) Reconcile(_ context.Context, r controller.Request) (controller.Result, error) {
	_, err := i.cached.Get(r.Namespace, r.Name)
	if i.left.Add(-1) == 0 {
		i.all <- struct{}{}
	}
	return controller.Result{}, err
}

// reconciled is how long it takes from after begin, and with ask, until so many objects are reconciled.
func (i *idler) reconciled(objects int64, begin, ask func()) time.Duration {
	runtime.GC()
	i.left.Store(objects)
	begin()
	begun := time.Now()
	ask()
	<-i.all
	return time.Since(begun)
}

// fillConfigMaps creates ConfigMaps in the namespace default.
func fillConfigMaps(ctx context.Context, plane *bowline.Plane, n int) error {
	clients, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		return err
	}
	for i := range n {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: configMapName(i)}, Data: map[string]string{"data": kibibyte}}
		if _, err := clients.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}
