package garbagecollector

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/action"
)

// graph is who owns whom: the caches of all resources, with an index by owner. Nothing else is kept, and nothing is ever gone
// through as a whole: an event of an object concerns the object, its owners and its dependents.
type graph struct {
	client    *client.Client
	informers *informer.Factory
	look      *controller.Trigger
	absent    absentees
	moments   moments

	mu     sync.RWMutex
	caches map[schema.GroupVersionResource]*cache // of all that are served, or were not long ago
	served map[schema.GroupResource]*cache        // of those that are, each in one version
	kinds  map[schema.GroupKind]*cache            // the same, by what references call them
	heard  time.Time                              // when there were news of what is served
	// unserved are objects with owners of kinds that are not served, by those.
	unserved map[schema.GroupKind]map[controller.Request]bool
}

// newGraph makes a graph of what a manager's server has. Its caches are lazy: of most objects nobody ever asks more than to whom
// they belong, which is known without decoding them.
func newGraph(m *controller.Manager) *graph {
	return &graph{
		client: m.Client(), informers: m.MoreInformers(informer.FactoryOptions{Lazy: true, Uninitialized: true}), look: &controller.Trigger{},
		caches:   map[schema.GroupVersionResource]*cache{},
		unserved: map[schema.GroupKind]map[controller.Request]bool{},
	}
}

// cached is an object, and where.
type cached struct {
	*cache
	object
}

// all are the caches of what is served.
func (g *graph) all() []*cache {
	g.mu.RLock()
	defer g.mu.RUnlock()
	caches := make([]*cache, 0, len(g.served))
	for _, c := range g.served {
		caches = append(caches, c)
	}
	return caches
}

// dependentsOf are the cached objects that refer to a uid.
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

// countOf is how many cached objects refer to a uid.
func (g *graph) countOf(uid types.UID) (count int) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, c := range g.served {
		count += c.objects.Indexer().Count("owner", string(uid))
	}
	return count
}

// ownerOf is where an owner would have to be. It is false for one of a kind that is not served, for which there is no cache, and
// for one in a namespace of an object in none.
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

// see finds out what has become of an object's owners, and who depends on it where that matters.
func (g *graph) see(ctx context.Context, c *cache, obj object) (seen, error) {
	s := seen{place: place{c.GroupVersionResource}, object: obj}
	awaited := false
	for _, r := range obj.OwnerReferences {
		o, err := g.owner(ctx, obj, r)
		if err != nil {
			return s, err
		}
		if o.state == unserved && !g.await(c, obj, r) {
			return s, fmt.Errorf("%s has just come to be served", r.Kind)
		}
		awaited = awaited || o.state == waiting
		s.owners = append(s.owners, o)
	}
	var err error
	switch {
	case isOrphaner(obj):
		s.dependents, err = g.orphans(ctx, cached{c, obj})
	case waits(obj):
		s.dependents, s.circle, err = g.blockers(ctx, cached{c, obj})
	case awaited:
		s.dependents, err = g.dependents(obj)
	}
	return s, err
}

// owner finds out what has become of an owner. That one is absent only the server can say, or its deletion; and that one waits
// for its dependents too, which it may have been told since to leave behind.
func (g *graph) owner(ctx context.Context, obj object, r metav1.OwnerReference) (owner, error) {
	o := owner{OwnerReference: r, state: unserved}
	elsewhere, known := g.absent.find(obj.Namespace, r)
	c, key, ok := g.ownerOf(obj, r)
	switch {
	case known:
		o.state, o.elsewhere = absent, elsewhere
		return o, nil
	case c == nil:
		return o, nil
	case !ok:
		o.state, o.elsewhere = unknowable, g.elsewhere(c, r)
		return o, nil
	}
	there, err := c.objects.Indexer().Find(key)
	if err == nil && there.UID == r.UID && stateOf(there) == solid {
		o.state = solid
		return o, nil
	} else if unreadable := (*informer.UnreadableError)(nil); errors.As(err, &unreadable) {
		return o, err
	}
	there, err = c.find(ctx, g.client, key)
	switch {
	case err == nil && there.UID == r.UID:
		o.state = stateOf(there)
	case err == nil || apierrors.IsNotFound(err) && !errors.Is(err, action.ErrUnserved):
		o.state, o.elsewhere = absent, g.elsewhere(c, r)
		g.absent.remember(coordinates{kindOf(r), key.Namespace, r.Name, r.UID}, o.elsewhere)
	default:
		return o, fmt.Errorf("whether its owner %s %s is there: %w", r.Kind, r.Name, err)
	}
	return o, nil
}

func stateOf(owner object) state {
	if waits(owner) {
		return waiting
	}
	return solid
}

var namespaces = schema.GroupKind{Kind: "Namespace"}

// elsewhere says whether there is an owner of that name and uid in another namespace.
func (g *graph) elsewhere(c *cache, r metav1.OwnerReference) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	in := g.kinds[namespaces]
	if in == nil || !c.Namespaced {
		return false
	}
	for namespace := range in.objects.Indexer().All() {
		if there, ok := c.objects.Indexer().Get(informer.Key{Namespace: namespace.Name, Name: r.Name}); ok && there.UID == r.UID {
			return true
		}
	}
	return false
}
