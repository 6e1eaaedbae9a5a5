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

// listers compares lists from the caches of two libraries in one process, filled from the same plane.
func listers() measurement {
	return measurement{
		figures: []figure{
			{"1,000 of 100,000 by index, from the cache: informer", microseconds, 50},
			{"1,000 of 100,000 by index: informer, times controller-runtime without copies", times, 1},
		},
		starts: true,
		run:    inChild(childListers),
	}
}

// lookedUp is the number of reads of each cache, of which the median is used; shared is the number of objects
// with the same value.
const lookedUp, shared = 200, 1_000

// group returns the value under which an index finds an object.
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
	ourTime, err := timeReads(func(n int) (int, error) {
		found, err := ours.ByIndex("group", groupName(n))
		return len(found), err
	})
	if err != nil {
		return err
	}
	theirTime, err := timeReads(theirs.byGroup)
	if err != nil {
		return err
	}
	return printJSON([]float64{float64(ourTime.Nanoseconds()) / 1e3, ratio(ourTime, theirTime)})
}

// timeReads returns the median time of reads. Each must find shared objects.
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

// fillGroups creates ConfigMaps in as many namespaces as groups, so that each group has objects in all
// namespaces.
func fillGroups(ctx context.Context, config *rest.Config) error {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	groups := many / shared
	if err := drive(ctx, 4, groups, func(i int) error {
		_, err := clients.CoreV1().Namespaces().Create(ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: groupName(i)}}, metav1.CreateOptions{})
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
func ourLister(ctx context.Context, running *sync.WaitGroup,
	config *rest.Config) (*informer.Indexer[*corev1.ConfigMap], error) {
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
	if err := c.IndexField(ctx, &corev1.ConfigMap{}, "group", func(obj crclient.Object) []string {
		return []string{group(obj)}
	}); err != nil {
		return runtimeCache{}, err
	}
	running.Go(func() { c.Start(ctx) })
	if !c.WaitForCacheSync(ctx) {
		return runtimeCache{}, fmt.Errorf("controller-runtime's cache was not filled: %w", ctx.Err())
	}
	return runtimeCache{ctx, c}, nil
}

// byGroup lists the objects of a group without copying them.
func (c runtimeCache) byGroup(n int) (int, error) {
	var list corev1.ConfigMapList
	err := c.cache.List(c.ctx, &list, crclient.MatchingFields{"group": groupName(n)}, crclient.UnsafeDisableDeepCopy)
	return len(list.Items), err
}
