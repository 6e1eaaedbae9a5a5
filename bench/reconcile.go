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

// childReconcile is the argument of the process that reconciles.
const childReconcile = "child-reconcile"

// reconciles measures a controller that finds nothing to do.
func reconciles() measurement {
	return measurement{
		figures: []figure{
			{"reconcile of 10,000 objects, no-op, from when the cache is filled", milliseconds, 100},
		},
		starts: true,
		run:    inChild(childReconcile),
	}
}

// measureReconciles runs a controller on the objects of a plane in its process. It prints the time in milliseconds from
// when the cache was filled until each object was reconciled.
func measureReconciles(ctx context.Context, _ []string) error {
	const objects, workers = 10_000, 4
	plane, err := bowline.Start(ctx, bowline.Options{Controllers: []string{bowline.NoControllers}})
	if err != nil {
		return err
	}
	defer plane.Close()
	if err := fillConfigMaps(ctx, plane, objects); err != nil {
		return err
	}
	m, err := controller.NewManager(plane.RESTConfig(),
		controller.ManagerOptions{Source: plane.Source(), Metrics: controller.NewMetrics()})
	if err != nil {
		return err
	}
	maps := informer.For[*corev1.ConfigMap](m.Informers(),
		schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})
	idle := &idler{cached: maps.Lister(), all: make(chan struct{}, 1)}
	m.Add(controller.Options{
		Name: "noop", Workers: workers, Reconciler: idle, Sources: []controller.Source{controller.For(maps)},
	})
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	runtime.GC()
	idle.left.Store(objects)
	go func() { ended <- m.Run(running) }()
	<-maps.Synced()
	start := time.Now()
	<-idle.all
	took := time.Since(start)
	stop()
	if err := <-ended; err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode([]float64{took.Seconds() * 1000})
}

// idler is a reconciler that finds nothing to do.
type idler struct {
	cached informer.Lister[*corev1.ConfigMap]
	left   atomic.Int64
	all    chan struct{} // receives a value when nothing is left
}

func (i *idler) Reconcile(_ context.Context, r controller.Request) (controller.Result, error) {
	_, err := i.cached.Get(r.Namespace, r.Name)
	if i.left.Add(-1) == 0 {
		i.all <- struct{}{}
	}
	return controller.Result{}, err
}

// fillConfigMaps creates ConfigMaps in the namespace default.
func fillConfigMaps(ctx context.Context, plane *bowline.Plane, n int) error {
	clients, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		return err
	}
	for i := range n {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: configMapName(i)},
			Data: map[string]string{"data": kibibyte}}
		if _, err := clients.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, cm,
			metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}
