package resourcequota

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
	"github.com/bowline-dev/bowline/internal/discovery"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/quota"
)

const (
	// maxWait is how long Reconcile waits for a new cache.
	maxWait = 5 * time.Second
	// maxLag is how long Reconcile waits for a cache that may lag behind a quota before it lists the objects instead.
	// The cache of a resource that does not change learns of its progress only by bookmarks.
	maxLag = 100 * time.Millisecond
)

// errNotServed means that the counted resource is not served at the moment.
var errNotServed = errors.New("it is not served")

// caches holds the caches of the resources that quotas count. Unlike the caches that controllers share, they include
// objects with pending initializers, because the server charges those too.
type caches struct {
	manager *controller.Manager
	// typed has the objects whose amounts depend on their fields, and metadata those that are only counted.
	typed, metadata *informer.Factory
	// onChange is called with a delay after which the quotas of the namespace are to be counted.
	onChange func(resource schema.GroupResource, namespace string, delay time.Duration)

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
	// catchUp waits until list has all changes up to a revision.
	catchUp func(context.Context, object.Revision) error
	// newest lists the objects by a request to the server.
	newest func(ctx context.Context, namespace string) ([]client.Object, error)
	stop   func()
}

func newCaches(m *controller.Manager, onChange func(schema.GroupResource, string, time.Duration)) *caches {
	f := &caches{
		manager: m,
		// Without Transform, it shares the objects that other controllers in this process have decoded.
		typed:    m.NewInformers(informer.FactoryOptions{Uninitialized: true}),
		metadata: m.NewInformers(informer.FactoryOptions{Uninitialized: true, Transform: trimmed}),
		onChange: onChange, caches: map[schema.GroupResource]cache{}, defined: map[schema.GroupResource]time.Time{},
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

// listSince returns the objects of a resource in a namespace at a revision or a later one: from the cache if it catches
// up soon, and otherwise by a request.
func (f *caches) listSince(ctx context.Context, revision object.Revision, resource schema.GroupResource,
	namespace string) (iter.Seq[client.Object], error) {
	c, err := f.cache(ctx, resource)
	if err != nil {
		return nil, err
	}
	catchingUp, cancel := context.WithTimeout(ctx, maxLag)
	defer cancel()
	if c.catchUp(catchingUp, revision) == nil {
		return c.list(namespace), nil
	}
	ctx, cancelList := context.WithTimeout(ctx, maxWait)
	defer cancelList()
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
	switch resource.GroupResource() {
	case quota.Pods:
		return startCache[*corev1.Pod](f, f.typed, resource)
	case quota.Services:
		return startCache[*corev1.Service](f, f.typed, resource)
	case quota.Claims:
		return startCache[*corev1.PersistentVolumeClaim](f, f.typed, resource)
	case quota.DeviceClaims:
		return startCache[*resourcev1.ResourceClaim](f, f.typed, resource)
	}
	return startCache[*metav1.PartialObjectMetadata](f, f.metadata, resource)
}

// startCache starts the cache of a resource as objects of type T.
func startCache[T client.Object](f *caches, informers *informer.Factory, resource schema.GroupVersionResource) cache {
	objects := informer.For[T](informers, resource)
	notify := func(obj T, delay time.Duration) { f.onChange(resource.GroupResource(), obj.GetNamespace(), delay) }
	registration := objects.AddHandler(informer.HandlerFuncs[T]{
		Add: func(obj T, _ bool) { notify(obj, createdDelay) },
		Update: func(old, obj T) {
			if affectsUsage(old, obj) {
				notify(obj, batchDelay)
			}
		},
		Delete: func(obj T, _ bool) { notify(obj, batchDelay) },
	})
	served := client.Of[T](f.manager.Client(), resource).Uninitialized()
	return cache{
		resource: resource,
		synced:   objects.Synced(),
		list: func(namespace string) iter.Seq[client.Object] {
			return func(yield func(client.Object) bool) {
				for obj := range objects.Indexer().Each("namespace", namespace) {
					if !yield(obj) {
						return
					}
				}
			}
		},
		catchUp: func(ctx context.Context, revision object.Revision) error {
			return objects.WaitForRevision(ctx, informer.Key{}, revision)
		},
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
		stop: func() {
			registration.Remove()
			informer.Drop[T](informers, resource)
		},
	}
}

// trimmed removes the metadata that a count of objects does not need, to save memory.
func trimmed(obj client.Object) (client.Object, error) {
	obj.SetManagedFields(nil)
	obj.SetLabels(nil)
	obj.SetOwnerReferences(nil)
	obj.SetAnnotations(nil)
	return obj, nil
}

// affectsUsage reports whether an update may change an object's usage.
func affectsUsage(old, obj client.Object) bool {
	switch obj := obj.(type) {
	case *corev1.Pod:
		old := old.(*corev1.Pod)
		return pods.IsTerminal(old) != pods.IsTerminal(obj) ||
			(old.DeletionTimestamp == nil) != (obj.DeletionTimestamp == nil) ||
			old.Generation != obj.Generation ||
			!slices.EqualFunc(old.Status.ContainerStatuses, obj.Status.ContainerStatuses, sameResources) ||
			!slices.EqualFunc(old.Status.InitContainerStatuses, obj.Status.InitContainerStatuses, sameResources)
	case *resourcev1.ResourceClaim:
		return !equality.Semantic.DeepEqual(old.(*resourcev1.ResourceClaim).Spec, obj.Spec)
	case *metav1.PartialObjectMetadata:
		return false
	}
	return true // services and claims: few, and they change rarely
}

// sameResources reports whether two states of a container hold the same resources, which a resize changes.
func sameResources(a, b corev1.ContainerStatus) bool {
	return a.Name == b.Name && equality.Semantic.DeepEqual(a.Resources, b.Resources) &&
		equality.Semantic.DeepEqual(a.AllocatedResources, b.AllocatedResources)
}
