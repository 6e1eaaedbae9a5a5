package resourcequota

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/pods"
	"github.com/bowline-dev/bowline/controllers/resources"
	"github.com/bowline-dev/bowline/informer"
)

// patience is how long a new cache is waited for.
const patience = 5 * time.Second

// errNotServed is that nobody serves what is to be counted, at the moment.
var errNotServed = errors.New("it is not served")

// followed are the caches of what some quota has counted.
type followed struct {
	manager *controller.Manager
	changed func(resource schema.GroupResource, namespace string)

	mu     sync.Mutex
	caches map[schema.GroupResource]cache
}

// cache is that of the objects of a resource.
type cache struct {
	filled <-chan struct{}
	in     func(namespace string) iter.Seq[client.Object]
}

func newFollowed(m *controller.Manager, changed func(schema.GroupResource, string)) *followed {
	return &followed{manager: m, changed: changed, caches: map[schema.GroupResource]cache{}}
}

// in are the objects of a resource in a namespace.
func (f *followed) in(ctx context.Context, resource schema.GroupResource, namespace string) (iter.Seq[client.Object], error) {
	c, err := f.cache(ctx, resource)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-c.filled:
		return c.in(namespace), nil
	case <-waiting.Done():
		return nil, fmt.Errorf("nobody knows how many %s there are: they cannot be listed", resource)
	}
}

// cache begins to follow a resource, if that is not done already.
func (f *followed) cache(ctx context.Context, resource schema.GroupResource) (cache, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c, known := f.caches[resource]; known {
		return c, nil
	}
	found, failures := resources.Discover(ctx, f.manager.Client())
	for _, r := range found {
		if r.GroupResource() == resource && r.Namespaced && r.Serves("list") && r.Serves("watch") {
			f.caches[resource] = f.begin(r.GroupVersionResource)
			return f.caches[resource], nil
		}
	}
	if len(failures) > 0 {
		return cache{}, errors.Join(failures...)
	}
	return cache{}, errNotServed
}

func (f *followed) begin(resource schema.GroupVersionResource) cache {
	switch resource.GroupResource() {
	case pods.Resource.GroupResource():
		return follow[*corev1.Pod](f, resource)
	case services:
		return follow[*corev1.Service](f, resource)
	case claims:
		return follow[*corev1.PersistentVolumeClaim](f, resource)
	}
	return follow[*metav1.PartialObjectMetadata](f, resource)
}

// follow makes the cache of a resource as T.
func follow[T client.Object](f *followed, resource schema.GroupVersionResource) cache {
	objects := informer.For[T](f.manager.Informers(), resource)
	tell := func(obj T) { f.changed(resource.GroupResource(), obj.GetNamespace()) }
	objects.AddHandler(informer.HandlerFuncs[T]{
		Add: func(obj T, _ bool) { tell(obj) },
		Update: func(old, obj T) {
			if matters(old, obj) {
				tell(obj)
			}
		},
		Delete: func(obj T, _ bool) { tell(obj) },
	})
	return cache{objects.Synced(), func(namespace string) iter.Seq[client.Object] {
		return func(yield func(client.Object) bool) {
			for obj := range objects.Indexer().Each("namespace", namespace) {
				if !yield(obj) {
					return
				}
			}
		}
	}}
}

// matters says whether a change may be one of what an object takes.
func matters(old, obj client.Object) bool {
	switch obj := obj.(type) {
	case *corev1.Pod:
		old := old.(*corev1.Pod)
		return pods.HasEnded(old) != pods.HasEnded(obj) || (old.DeletionTimestamp == nil) != (obj.DeletionTimestamp == nil) ||
			old.Generation != obj.Generation || !reflect.DeepEqual(old.Status.ContainerStatuses, obj.Status.ContainerStatuses)
	case *metav1.PartialObjectMetadata:
		return false
	}
	return true // few, and seldom
}
