package main

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

// cachedPods and cachedHitches measure how much caches add to the live heap of a process that also runs the
// server.
func cachedPods() measurement {
	return measurement{
		figures: []figure{
			{"10 controllers' informers on 10,000 Pods in process: lazy, times client-go's", times, 0.2},
		},
		starts: true,
		run:    inChild(childPods),
	}
}

func cachedHitches() measurement {
	return measurement{
		figures: []figure{
			{"100,000 custom resources: a Go type with one field, times client-go's dynamic informer", times, 0.25},
			{"100,000 custom resources: a Transform to one field, times client-go's dynamic informer", times, 0.25},
			{"100,000 custom resources: lazy, times client-go's dynamic informer", times, 0.25},
		},
		starts: true,
		run:    inChild(childHitches),
	}
}

// controllers is the number of controllers that use the Pods, each with a handler.
const controllers = 10

func measurePods(ctx context.Context, _ []string) error {
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
	theirs, err := grown(ctx, func(ctx context.Context, running *sync.WaitGroup) error {
		return theirPods(ctx, clients)
	})
	if err != nil {
		return err
	}
	ours, err := grown(ctx, func(ctx context.Context, running *sync.WaitGroup) error {
		return ourPods(ctx, running, plane.Source())
	})
	if err != nil {
		return err
	}
	return printJSON([]float64{ours / theirs})
}

// grown returns by how many bytes a cache increases the live heap. It stops the cache before it returns.
func grown(ctx context.Context, fill func(context.Context, *sync.WaitGroup) error) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	before := liveBytes()
	if err := fill(ctx, &running); err != nil {
		return 0, err
	}
	return liveBytes() - before, nil
}

// ourPods fills the lazy cache of a factory that ten controllers share, with a handler for each.
func ourPods(ctx context.Context, running *sync.WaitGroup, source client.Source) error {
	f := informer.NewFactory(source, informer.FactoryOptions{Lazy: true})
	running.Go(func() { f.Run(ctx) })
	for range controllers {
		registration := informer.For[*corev1.Pod](f,
			schema.GroupVersionResource{Version: "v1", Resource: "pods"}).AddHandler(informer.HandlerFuncs[*corev1.Pod]{
			Add: func(pod *corev1.Pod, _ bool) { _ = pod.Spec.NodeName },
		})
		select {
		case <-registration.Synced():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// theirPods does the same with client-go's factory.
func theirPods(ctx context.Context, clients kubernetes.Interface) error {
	f := informers.NewSharedInformerFactory(clients, 0)
	pods := f.Core().V1().Pods().Informer()
	var synced []cache.InformerSynced
	for range controllers {
		registration, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) { _ = obj.(*corev1.Pod).Spec.NodeName },
		})
		if err != nil {
			return err
		}
		synced = append(synced, registration.HasSynced)
	}
	f.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("client-go's informers were not filled: %w", ctx.Err())
	}
	return nil
}

// slimHitch is a hitch for a controller that uses only one field.
type slimHitch struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		CIDR string `json:"cidr"`
	} `json:"spec"`
}

func (h *slimHitch) DeepCopyObject() runtime.Object {
	c := *h
	h.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func measureHitches(ctx context.Context, _ []string) error {
	plane, err := bowline.Start(ctx, bowline.Options{})
	if err != nil {
		return err
	}
	defer plane.Close()
	dyn, err := fillHitches(ctx, plane)
	if err != nil {
		return err
	}
	c, err := client.New(plane.RESTConfig())
	if err != nil {
		return err
	}
	source := client.NewSource(c)
	theirs, err := grown(ctx, func(ctx context.Context, _ *sync.WaitGroup) error { return theirHitches(ctx, dyn) })
	if err != nil {
		return err
	}
	var ours [3]float64
	for i, options := range []informer.Options[*slimHitch]{
		{},
		{Transform: withoutManagedFields},
		{Lazy: true},
	} {
		if ours[i], err = grown(ctx, func(ctx context.Context, running *sync.WaitGroup) error {
			return ourHitches(ctx, running, source, options)
		}); err != nil {
			return err
		}
	}
	return printJSON([]float64{ours[0] / theirs, ours[1] / theirs, ours[2] / theirs})
}

func withoutManagedFields(h *slimHitch) (*slimHitch, error) {
	h.ManagedFields = nil
	return h, nil
}

// fillHitches creates the custom resources.
func fillHitches(ctx context.Context, plane *bowline.Plane) (dynamic.Interface, error) {
	dyn, err := servingHitches(ctx, plane)
	if err != nil {
		return nil, err
	}
	instances := dyn.Resource(hitches).Namespace(metav1.NamespaceDefault)
	return dyn, drive(ctx, 16, many-1, func(i int) error {
		_, err := instances.Create(ctx, hitch(i+1), metav1.CreateOptions{})
		return err
	})
}

// servingHitches creates the definition and the first object, so that the resource is served when it returns.
func servingHitches(ctx context.Context, plane *bowline.Plane) (dynamic.Interface, error) {
	definitions, err := apiextensions.NewForConfig(plane.RESTConfig())
	if err != nil {
		return nil, err
	}
	dyn, err := dynamic.NewForConfig(plane.RESTConfig())
	if err != nil {
		return nil, err
	}
	if _, err := definitions.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, hitchDefinition(),
		metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	return dyn, createFirst(ctx, dyn.Resource(hitches).Namespace(metav1.NamespaceDefault), hitch(0))
}

func ourHitches(ctx context.Context, running *sync.WaitGroup, source client.Source,
	options informer.Options[*slimHitch]) error {
	i := informer.New(source, hitches, options)
	running.Go(func() { i.Run(ctx) })
	select {
	case <-i.Synced():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func theirHitches(ctx context.Context, dyn dynamic.Interface) error {
	i := dynamicinformer.NewFilteredDynamicInformer(dyn, hitches, metav1.NamespaceAll, 0, cache.Indexers{},
		nil).Informer()
	go i.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), i.HasSynced) {
		return fmt.Errorf("client-go's dynamic informer was not filled: %w", ctx.Err())
	}
	return nil
}
