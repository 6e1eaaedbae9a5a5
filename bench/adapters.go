package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/adapters/clientgo"
	"github.com/bowline-dev/bowline/client"
)

// adapted is what an operator that exists gains when our informers are put under it.
func adapted() measurement {
	return measurement{
		figures: []figure{
			{"an operator's 10,000 Pods in process: client-go's factory over our informers, lazy: live heap, times its own", times, 0.2},
			{"an operator's 10,000 Pods in process: client-go's factory over our informers, until synced, times its own", times, 1},
			{"an operator's 10,000 Pods in process: client-go's lister over our informers, times its own", times, 1},
			{"an operator's 10,000 Pods in process: controller-runtime's cache over our informers, until synced, times its own", times, 1},
			{"an operator's 10,000 Pods in process: controller-runtime's list over our informers, times its own", times, 1},
		},
		starts: true,
		run:    inChild(childAdapted),
	}
}

// filled fills a cache, and returns what lists from it; nil for one that is not to be read.
type filled func(context.Context, *sync.WaitGroup) (list func() (int, error), err error)

// operated is one operator's cache of Pods: what it costs, and how long it takes to fill and to list.
type operated struct {
	heap          float64
	filling, list time.Duration
}

func measureAdapted(ctx context.Context, _ []string) error {
	plane, err := bowline.Start(ctx, bowline.Options{})
	if err != nil {
		return err
	}
	defer plane.Close()
	clients, err := speaking(plane.RESTConfig(), runtime.ContentTypeProtobuf)
	if err != nil {
		return err
	}
	if err := drive(ctx, 16, listed, createPod(ctx, clients, metav1.NamespaceDefault)); err != nil {
		return err
	}
	lazy, err := clientgo.NewSharedInformerFactoryWithOptions(plane.Source(), clientgo.FactoryOptions{Lazy: true})
	if err != nil {
		return err
	}
	var by [5]operated
	for i, fill := range []filled{
		byFactory(informers.NewSharedInformerFactory(clients, 0)),
		unread(byFactory(lazy)), // nothing is decoded before the next one is measured
		byFactory(clientgo.NewSharedInformerFactory(plane.Source(), 0)),
		byCache(plane, nil),
		byCache(plane, ourPodInformer(plane.Source())),
	} {
		if by[i], err = operate(ctx, fill); err != nil {
			return err
		}
	}
	theirs, ours := by[0], by[2]
	return printJSON([]float64{
		by[1].heap / theirs.heap, ratio(ours.filling, theirs.filling), ratio(ours.list, theirs.list),
		ratio(by[4].filling, by[3].filling), ratio(by[4].list, by[3].list),
	})
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// operate fills a cache, lists from it, and stops it.
func operate(ctx context.Context, fill filled) (o operated, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	before, start := liveBytes(), time.Now()
	list, err := fill(ctx, &running)
	if err != nil {
		return o, err
	}
	o.filling = time.Since(start)
	o.heap = liveBytes() - before
	if list == nil {
		return o, nil
	}
	times := make([]time.Duration, lookedUp)
	for i := range times {
		start := time.Now()
		found, err := list()
		times[i] = time.Since(start)
		if err != nil || found != listed {
			return o, fmt.Errorf("%d Pods are listed: %w", found, err)
		}
	}
	o.list = medianOf(times)
	return o, nil
}

func unread(fill filled) filled {
	return func(ctx context.Context, running *sync.WaitGroup) (func() (int, error), error) {
		_, err := fill(ctx, running)
		return nil, err
	}
}

// byFactory is an operator that is written with client-go.
func byFactory(f informers.SharedInformerFactory) filled {
	return func(ctx context.Context, _ *sync.WaitGroup) (func() (int, error), error) {
		pods := f.Core().V1().Pods()
		pods.Informer()
		f.StartWithContext(ctx)
		context.AfterFunc(ctx, f.Shutdown)
		if err := f.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
			return nil, err
		}
		return func() (int, error) {
			found, err := pods.Lister().Pods(metav1.NamespaceDefault).List(labels.Everything())
			return len(found), err
		}, nil
	}
}

type newInformer = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

// ourPodInformer makes what adapters/controllerruntime makes when it is asked for Pods.
func ourPodInformer(source client.Source) newInformer {
	return func(_ toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
		return clientgo.New(source, pods, example, clientgo.Options{Resync: resync, Indexers: indexers})
	}
}

// byCache is an operator that is written with controller-runtime.
func byCache(plane *bowline.Plane, make newInformer) filled {
	return func(ctx context.Context, running *sync.WaitGroup) (func() (int, error), error) {
		config := plane.RESTConfig()
		config.ContentType = runtime.ContentTypeProtobuf
		c, err := crcache.New(config, crcache.Options{Scheme: scheme.Scheme, NewInformer: make})
		if err != nil {
			return nil, err
		}
		if _, err := c.GetInformer(ctx, &corev1.Pod{}); err != nil {
			return nil, err
		}
		running.Go(func() { c.Start(ctx) })
		if !c.WaitForCacheSync(ctx) {
			return nil, fmt.Errorf("the cache was not filled: %w", ctx.Err())
		}
		return func() (int, error) {
			var found corev1.PodList
			err := c.List(ctx, &found, crclient.InNamespace(metav1.NamespaceDefault), crclient.UnsafeDisableDeepCopy)
			return len(found.Items), err
		}, nil
	}
}
