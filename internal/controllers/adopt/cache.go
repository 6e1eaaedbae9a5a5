package adopt

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// Cache is the objects of a resource, by who controls them.
type Cache[T client.Object] struct {
	*informer.Informer[T]
}

// CacheOf is the cache of a manager's objects.
func CacheOf[T client.Object](m *controller.Manager, resource schema.GroupVersionResource) Cache[T] {
	i := informer.For[T](m.Informers(), resource)
	i.Indexer().AddIndex("controller", byController[T])
	return Cache[T]{i}
}

// byController finds objects by the uid of their controller, and those that have none by their namespace.
func byController[T client.Object](obj T) []string {
	if c := metav1.GetControllerOfNoCopy(obj); c != nil {
		return []string{string(c.UID)}
	}
	return []string{"in " + obj.GetNamespace()}
}

// Claimable are the objects that an owner controls, and those of its namespace that nobody does: what Claim looks through.
func (c Cache[T]) Claimable(owner client.Object) []T {
	return append(c.ControlledBy(owner.GetUID()), c.found("in "+owner.GetNamespace())...)
}

// ControlledBy are the objects that the one with that uid controls.
func (c Cache[T]) ControlledBy(uid types.UID) []T { return c.found(string(uid)) }

func (c Cache[T]) found(value string) []T {
	objects, err := c.Indexer().ByIndex("controller", value)
	if err != nil {
		panic(err) // CacheOf has made the index
	}
	return objects
}
