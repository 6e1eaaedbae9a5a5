package garbagecollector

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// maxAbsent limits the number of absent owners that are cached.
const maxAbsent = 10000

// absentOwners caches owners that are known to be absent. An absent owner stays absent, since a uid is never
// reused. The cache saves one request to the server per dependent of an owner, and answers for owners whose
// kind was removed together with its last object. The value reports whether the owner exists in another
// namespace.
type absentOwners struct {
	mu     sync.Mutex
	owners map[ownerKey]bool
}

// find reports whether the owner r of an object in namespace is known to be absent. It also looks for a
// cluster-scoped owner, since the scope of a kind that is no longer served is unknown.
func (a *absentOwners) find(namespace string, r metav1.OwnerReference) (elsewhere, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if elsewhere, known = a.owners[ownerKey{kindOf(r), namespace, r.Name, r.UID}]; known {
		return elsewhere, true
	}
	elsewhere, known = a.owners[ownerKey{kindOf(r), "", r.Name, r.UID}]
	return elsewhere, known
}

func (a *absentOwners) add(key ownerKey, elsewhere bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.owners) >= maxAbsent || a.owners == nil {
		a.owners = map[ownerKey]bool{}
	}
	a.owners[key] = elsewhere
}

// markAbsent records an object whose deletion was observed.
func (g *graph) markAbsent(in schema.GroupVersionResource, obj object) {
	g.mu.RLock()
	c := g.caches[in]
	g.mu.RUnlock()
	if c != nil { // otherwise the kind is no longer known, and the server is asked for the owner
		g.absent.add(ownerKey{c.kind(), obj.Namespace, obj.Name, obj.UID}, false)
	}
}

// get gets an object from the server. If it is not found because its kind is no longer served in this
// version, the error is action.ErrUnserved.
func (c *cache) get(ctx context.Context, by *client.Client, key informer.Key) (object, error) {
	obj, err := client.Of[object](by, c.GroupVersionResource).Get(ctx, key.Namespace, key.Name)
	return obj, action.ClassifyNotFound(err, c.GroupVersionResource, key.Name)
}

// await registers obj to be reconciled when the kind of its owner is served. It returns false if the kind is
// already served.
func (g *graph) await(c *cache, obj object, r metav1.OwnerReference) bool {
	key := informer.KeyOf(obj)
	request := requestOf(c.GroupResource(), key)
	if !g.awaitKind(kindOf(r), request) {
		return false
	}
	if _, exists := c.objects.Indexer().Get(key); !exists { // its deletion may already have been handled
		g.unregister(request, obj.OwnerReferences)
	}
	return true
}

// awaitKind registers request for the time when kind is served. It returns false if the kind is already
// served.
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

// unregister unregisters an object from the kinds of its owners.
func (g *graph) unregister(request controller.Request, owners []metav1.OwnerReference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range owners {
		waiting := g.unserved[kindOf(r)]
		if delete(waiting, request); len(waiting) == 0 {
			delete(g.unserved, kindOf(r))
		}
	}
}
