package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// listers reads the same objects from the caches of two libraries in one process, which got them from the same plane.
func listers() measurement {
	return measurement{
		figures: []figure{
			{"1,000 of 100,000 by index, from the cache: informer", microseconds, 50},
			{"1,000 of 100,000 by index: informer, times controller-runtime without copies", times, 1},
			{"1,000 of 100,000 in a namespace: informer, times controller-runtime without copies", times, 1},
		},
		starts: true,
		run:    inChild(childListers),
	}
}

// lookedUp is how often each cache is read, of which the median counts, and shared how many objects a value finds.
const lookedUp, shared = 200, 1_000

// group is the value that an index finds an object by.
func group(obj metav1.Object) string { return obj.GetLabels()["group"] }

func measureListers(ctx context.Context, _ []string) error {
	plane, err := bowline.Start(ctx, bowline.Options{})
	if err != nil {
		return err
	}
	defer plane.Close()
	if err := fillGroups(ctx, plane.RESTConfig()); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	ours, err := ourLister(ctx, &running, plane.RESTConfig())
	if err != nil {
		return err
	}
	theirs, err := theirLister(ctx, &running, plane.RESTConfig())
	if err != nil {
		return err
	}
	var took [4]time.Duration
	for i, read := range []func(n int) (int, error){
		func(n int) (int, error) { found, err := ours.ByIndex("group", groupName(n)); return len(found), err },
		theirs.by(func(n int) crclient.ListOption { return crclient.MatchingFields{"group": groupName(n)} }),
		func(n int) (int, error) { return len(ours.InNamespace(groupName(n))), nil },
		theirs.by(func(n int) crclient.ListOption { return crclient.InNamespace(groupName(n)) }),
	} {
		if took[i], err = timeReads(read); err != nil {
			return err
		}
	}
	return printJSON([]float64{float64(took[0].Nanoseconds()) / 1e3, float64(took[0]) / float64(took[1]), float64(took[2]) / float64(took[3])})
}

// timeReads is the median of reads of which each must find as many objects as share a value.
func timeReads(read func(n int) (int, error)) (time.Duration, error) {
	times := make([]time.Duration, lookedUp)
	for i := range times {
		start := time.Now()
		found, err := read(i * 7 % (many / shared))
		times[i] = time.Since(start)
		if err != nil || found != shared {
			return 0, fmt.Errorf("%d objects found: %w", found, err)
		}
	}
	return medianOf(times), nil
}

func groupName(n int) string { return fmt.Sprintf("group-%03d", n) }

// fillGroups creates ConfigMaps in as many namespaces as groups; those of a group are in all namespaces.
func fillGroups(ctx context.Context, config *rest.Config) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	groups := many / shared
	if err := drive(ctx, 4, groups, func(i int) error {
		_, err := clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: groupName(i)}}, metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	return drive(ctx, 16, many, func(i int) error {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("bench-%06d", i), Labels: map[string]string{"group": groupName(i / groups % groups)},
		}}
		_, err := clients.CoreV1().ConfigMaps(groupName(i%groups)).Create(ctx, cm, metav1.CreateOptions{})
		return err
	})
}

// ourLister fills an informer's cache.
func ourLister(ctx context.Context, running *sync.WaitGroup, config *rest.Config) (*informer.Indexer[*corev1.ConfigMap], error) {
	c, err := client.New(config)
	if err != nil {
		return nil, err
	}
	i := informer.New(client.NewSource(c), configMaps, informer.Options[*corev1.ConfigMap]{
		Indexes: map[string]informer.IndexFunc[*corev1.ConfigMap]{
			"group": func(cm *corev1.ConfigMap) []string { return []string{group(cm)} },
		},
	})
	running.Go(func() { i.Run(ctx) })
	select {
	case <-i.Synced():
		return i.Indexer(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// runtimeCache is controller-runtime's cache.
type runtimeCache struct {
	ctx   context.Context
	cache crcache.Cache
}

// theirLister fills controller-runtime's cache.
func theirLister(ctx context.Context, running *sync.WaitGroup, config *rest.Config) (runtimeCache, error) {
	crlog.SetLogger(logr.Discard())
	c, err := crcache.New(config, crcache.Options{Scheme: scheme.Scheme})
	if err != nil {
		return runtimeCache{}, err
	}
	if err := c.IndexField(ctx, &corev1.ConfigMap{}, "group", func(obj crclient.Object) []string { return []string{group(obj)} }); err != nil {
		return runtimeCache{}, err
	}
	running.Go(func() { c.Start(ctx) })
	if !c.WaitForCacheSync(ctx) {
		return runtimeCache{}, fmt.Errorf("controller-runtime's cache was not filled: %w", ctx.Err())
	}
	return runtimeCache{ctx, c}, nil
}

// by lists as whoever reads and does not copy does.
func (c runtimeCache) by(option func(n int) crclient.ListOption) func(n int) (int, error) {
	return func(n int) (int, error) {
		var list corev1.ConfigMapList
		err := c.cache.List(c.ctx, &list, option(n), crclient.UnsafeDisableDeepCopy)
		return len(list.Items), err
	}
}
