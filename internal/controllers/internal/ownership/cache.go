package ownership

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// Cache is an informer whose objects are indexed by their controller.
type Cache[T client.Object] struct {
	*informer.Informer[T]
}

// NewCache returns the cache of a resource, backed by the manager's shared informer.
func NewCache[T client.Object](m *controller.Manager, resource schema.GroupVersionResource) Cache[T] {
	i := informer.For[T](m.Informers(), resource)
	i.Indexer().AddIndex("controller", byController[T])
	return Cache[T]{i}
}

// byController indexes objects by the UID of their controller, and objects without a controller by their
// namespace.
func byController[T client.Object](obj T) []string {
	if c := metav1.GetControllerOfNoCopy(obj); c != nil {
		return []string{string(c.UID)}
	}
	return []string{"in " + obj.GetNamespace()}
}

// Claimable returns the objects that an owner controls and the objects of its namespace without a controller:
// the input of Claim.
func (c Cache[T]) Claimable(owner client.Object) []T {
	return append(c.ControlledBy(owner.GetUID()), c.byIndex("in "+owner.GetNamespace())...)
}

// ControlledBy returns the objects whose controller has that UID.
func (c Cache[T]) ControlledBy(uid types.UID) []T { return c.byIndex(string(uid)) }

func (c Cache[T]) byIndex(value string) []T {
	objects, err := c.Indexer().ByIndex("controller", value)
	if err != nil {
		panic(err) // cannot happen: NewCache added the index
	}
	return objects
}
