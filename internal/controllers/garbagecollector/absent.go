package garbagecollector

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/action"
)

// mostAbsent is how many absent owners are remembered.
const mostAbsent = 10000

// absentees are owners that are known not to be where references have them: they never come there, since a uid is never given
// twice. They save asking the server for one owner of many, and asking for one of a kind that has gone with its last object. The
// value says whether the owner was somewhere else.
type absentees struct {
	mu     sync.Mutex
	owners map[coordinates]bool
}

// find says whether an owner of an object in a namespace is known to be absent. Nobody knows of a kind that has gone whether its
// objects were in namespaces.
func (a *absentees) find(namespace string, r metav1.OwnerReference) (elsewhere, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if elsewhere, known = a.owners[coordinates{kindOf(r), namespace, r.Name, r.UID}]; known {
		return elsewhere, true
	}
	elsewhere, known = a.owners[coordinates{kindOf(r), "", r.Name, r.UID}]
	return elsewhere, known
}

func (a *absentees) remember(at coordinates, elsewhere bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.owners) >= mostAbsent || a.owners == nil {
		a.owners = map[coordinates]bool{}
	}
	a.owners[at] = elsewhere
}

// gone remembers an object whose deletion was seen.
func (g *graph) gone(in schema.GroupVersionResource, obj object) {
	g.mu.RLock()
	c := g.caches[in]
	g.mu.RUnlock()
	if c != nil { // else its kind is not known any more, and whoever asks for the object asks the server
		g.absent.remember(coordinates{c.kind(), obj.Namespace, obj.Name, obj.UID}, false)
	}
}

// find asks the server for an object. Where that is not found since its kind is not served as it was, it is action.ErrUnserved.
func (c *cache) find(ctx context.Context, by *client.Client, key informer.Key) (object, error) {
	obj, err := client.Of[object](by, c.GroupVersionResource).Get(ctx, key.Namespace, key.Name)
	return obj, action.Unserved(err, c.GroupVersionResource, key.Name)
}

// await has an object looked at again when the kind of its owner is served. It is false when that is so already.
func (g *graph) await(c *cache, obj object, r metav1.OwnerReference) bool {
	key := informer.KeyOf(obj)
	request := requestOf(c.GroupResource(), key)
	if !g.awaitKind(kindOf(r), request) {
		return false
	}
	if _, there := c.objects.Indexer().Get(key); !there { // and its deletion may have been told of already
		g.forget(request, obj.OwnerReferences)
	}
	return true
}

// awaitKind has an object looked at again when a kind is served. It is false when that is so already.
func (g *graph) awaitKind(kind schema.GroupKind, request controller.Request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kinds[kind] != nil {
		return false
	}
	if g.unserved[kind] == nil {
		g.unserved[kind] = map[controller.Request]bool{}
	}
	g.unserved[kind][request] = true
	return true
}

// forget takes an object from those that wait for the kinds of their owners.
func (g *graph) forget(request controller.Request, owners []metav1.OwnerReference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range owners {
		waiting := g.unserved[kindOf(r)]
		if delete(waiting, request); len(waiting) == 0 {
			delete(g.unserved, kindOf(r))
		}
	}
}
