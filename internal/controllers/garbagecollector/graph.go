package garbagecollector

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// graph holds the owner relations: the caches of all resources, each indexed by owner. It derives everything
// else from these on demand and never scans them as a whole; an event of an object affects only the object,
// its owners and its dependents.
type graph struct {
	client    *client.Client
	informers *informer.Factory
	queue     *controller.Trigger
	absent    absentOwners

	mu        sync.RWMutex
	caches    map[schema.GroupVersionResource]*cache // all served resources, and those that were served until recently
	served    map[schema.GroupResource]*cache        // served resources, each in one version
	kinds     map[schema.GroupKind]*cache            // the caches in served, by the kind that references name
	changedAt time.Time                              // when the set of served resources may last have changed
	// unserved holds, by owner kind that is not served, the objects with owners of that kind.
	unserved map[schema.GroupKind]map[controller.Request]bool
}

// newGraph returns an empty graph of the manager's server. Its caches are lazy: most objects are only ever
// asked for their owners, which needs no decoding of the object.
func newGraph(m *controller.Manager) *graph {
	return &graph{
		client: m.Client(), informers: m.NewInformers(informer.FactoryOptions{Lazy: true, Uninitialized: true}),
		queue:    &controller.Trigger{},
		caches:   map[schema.GroupVersionResource]*cache{},
		unserved: map[schema.GroupKind]map[controller.Request]bool{},
	}
}

// cached is an object and the cache that holds it.
type cached struct {
	*cache
	object
}

// all returns the caches of the served resources.
func (g *graph) all() []*cache {
	g.mu.RLock()
	defer g.mu.RUnlock()
	caches := make([]*cache, 0, len(g.served))
	for _, c := range g.served {
		caches = append(caches, c)
	}
	return caches
}

// dependentsOf returns the cached objects with an owner reference to uid.
func (g *graph) dependentsOf(uid types.UID) (found []cached) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, c := range g.served {
		for obj := range c.objects.Indexer().Each("owner", string(uid)) {
			found = append(found, cached{c, obj})
		}
	}
	return found
}

// countOf returns the number of cached objects with an owner reference to uid.
func (g *graph) countOf(uid types.UID) (count int) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, c := range g.served {
		count += c.objects.Indexer().Count("owner", string(uid))
	}
	return count
}

// ownerOf returns the cache and key at which the owner r of obj would be found. ok is false if the owner's
// kind is not served, in which case the cache is nil, and if obj is cluster-scoped but the owner's kind is
// namespaced.
func (g *graph) ownerOf(obj object, r metav1.OwnerReference) (*cache, informer.Key, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	c := g.kinds[kindOf(r)]
	switch {
	case c == nil:
		return nil, informer.Key{}, false
	case !c.Namespaced:
		return c, informer.Key{Name: r.Name}, true
	default:
		return c, informer.Key{Namespace: obj.Namespace, Name: r.Name}, obj.Namespace != ""
	}
}

var namespaces = schema.GroupKind{Kind: "Namespace"}

// elsewhere reports whether an owner with the name and uid of r is cached in any namespace.
func (g *graph) elsewhere(c *cache, r metav1.OwnerReference) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	in := g.kinds[namespaces]
	if in == nil || !c.Namespaced {
		return false
	}
	for namespace := range in.objects.Indexer().All() {
		if candidate, ok := c.objects.Indexer().Get(informer.Key{Namespace: namespace.Name, Name: r.Name}); ok &&
			candidate.UID == r.UID {
			return true
		}
	}
	return false
}
