package resourcequota

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
	"github.com/bowline-dev/bowline/internal/discovery"
	"github.com/bowline-dev/bowline/internal/quota"
)

// maxWait is how long Reconcile waits for a new cache.
const maxWait = 5 * time.Second

// errNotServed means that the counted resource is not served at the moment.
var errNotServed = errors.New("it is not served")

// caches holds the caches of the resources that quotas count.
type caches struct {
	manager  *controller.Manager
	others   *informer.Factory // caches of metadata that no other controller uses
	onChange func(resource schema.GroupResource, namespace string)

	mu      sync.Mutex
	caches  map[schema.GroupResource]cache
	defined map[schema.GroupResource]time.Time // when a resource's definition was last observed to change
}

// cache is the cache of a resource's objects in the served version.
type cache struct {
	resource     schema.GroupVersionResource
	discoveredAt time.Time // time of the discovery that confirmed the version
	synced       <-chan struct{}
	list         func(namespace string) iter.Seq[client.Object]
	// newest lists the objects by a request to the server.
	newest func(ctx context.Context, namespace string) ([]client.Object, error)
	stop   func()
}

func newCaches(m *controller.Manager, onChange func(schema.GroupResource, string)) *caches {
	f := &caches{
		manager: m, others: m.NewInformers(informer.FactoryOptions{}), onChange: onChange,
		caches: map[schema.GroupResource]cache{}, defined: map[schema.GroupResource]time.Time{},
	}
	f.followDefinitions()
	return f
}

// list returns the objects of a resource in a namespace. It fails if the cache has not synced within maxWait.
func (f *caches) list(ctx context.Context, resource schema.GroupResource,
	namespace string) (iter.Seq[client.Object], error) {
	c, err := f.cache(ctx, resource)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case <-c.synced:
		return c.list(namespace), nil
	case <-waiting.Done():
		return nil, fmt.Errorf("cannot count %s: they cannot be listed", resource)
	}
}

// newest returns the objects of a resource in a namespace as the server has them.
func (f *caches) newest(ctx context.Context, resource schema.GroupResource,
	namespace string) (iter.Seq[client.Object], error) {
	c, err := f.cache(ctx, resource)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	all, err := c.newest(ctx, namespace)
	if err != nil && !apierrors.IsNotFound(err) { // without its definition, a custom resource has no objects
		return nil, fmt.Errorf("cannot count %s: %w", resource, err)
	}
	return slices.Values(all), nil
}

// cache returns the cache of a resource. It starts one if there is none yet, or if the resource is now served
// in another version.
func (f *caches) cache(ctx context.Context, resource schema.GroupResource) (cache, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	c, known := f.caches[resource]
	if known && !needsDiscovery(f.defined[resource], c.discoveredAt, now) {
		return c, nil
	}
	found, failures := discovery.Resources(ctx, f.manager.Client())
	for _, r := range found {
		if r.GroupResource() != resource || !r.Namespaced || !r.Serves("list") || !r.Serves("watch") {
			continue
		}
		if !known || c.resource != r.GroupVersionResource {
			if known {
				c.stop()
			}
			c = f.start(r.GroupVersionResource)
		}
		c.discoveredAt = now
		f.caches[resource] = c
		return c, nil
	}
	if len(failures) > 0 {
		return cache{}, errors.Join(failures...)
	}
	if known { // its deletion events are still arriving
		return c, nil
	}
	return cache{}, errNotServed
}

func (f *caches) start(resource schema.GroupVersionResource) cache {
	shared := f.manager.Informers()
	switch resource.GroupResource() {
	case quota.Pods:
		return startCache[*corev1.Pod](f, shared, resource)
	case quota.Services:
		return startCache[*corev1.Service](f, shared, resource)
	case quota.Claims:
		return startCache[*corev1.PersistentVolumeClaim](f, shared, resource)
	}
	c := startCache[*metav1.PartialObjectMetadata](f, f.others, resource)
	stop := c.stop
	c.stop = func() {
		stop()
		informer.Drop[*metav1.PartialObjectMetadata](f.others, resource)
	}
	return c
}

// startCache starts the cache of a resource as objects of type T.
func startCache[T client.Object](f *caches, informers *informer.Factory, resource schema.GroupVersionResource) cache {
	objects := informer.For[T](informers, resource)
	notify := func(obj T) { f.onChange(resource.GroupResource(), obj.GetNamespace()) }
	registration := objects.AddHandler(informer.HandlerFuncs[T]{
		Add: func(obj T, _ bool) { notify(obj) },
		Update: func(old, obj T) {
			if affectsUsage(old, obj) {
				notify(obj)
			}
		},
		Delete: func(obj T, _ bool) { notify(obj) },
	})
	served := client.Of[T](f.manager.Client(), resource).Uninitialized() // which were charged at their create
	return cache{resource: resource, synced: objects.Synced(), stop: registration.Remove,
		newest: func(ctx context.Context, namespace string) (all []client.Object, err error) {
			for obj, err := range served.All(ctx, namespace, metav1.ListOptions{}) {
				if errors.Is(err, client.ErrIncomplete) {
					break // what cannot be read is not counted
				}
				if err != nil {
					return nil, err
				}
				all = append(all, obj)
			}
			return all, nil
		},
		list: func(namespace string) iter.Seq[client.Object] {
			return func(yield func(client.Object) bool) {
				for obj := range objects.Indexer().Each("namespace", namespace) {
					if !yield(obj) {
						return
					}
				}
			}
		}}
}

// affectsUsage reports whether an update may change an object's usage.
func affectsUsage(old, obj client.Object) bool {
	switch obj := obj.(type) {
	case *corev1.Pod:
		old := old.(*corev1.Pod)
		return pods.IsTerminal(old) != pods.IsTerminal(obj) ||
			(old.DeletionTimestamp == nil) != (obj.DeletionTimestamp == nil) ||
			old.Generation != obj.Generation ||
			!reflect.DeepEqual(old.Status.ContainerStatuses, obj.Status.ContainerStatuses)
	case *metav1.PartialObjectMetadata:
		return false
	}
	return true // services and claims: few, and they change rarely
}
