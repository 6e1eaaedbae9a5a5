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
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// graph holds the owner relations: the caches of all resources, each indexed by owner. It derives everything
// else from these on demand and never scans them as a whole; an event of an object affects only the object,
// its owners and its dependents.
type graph struct {
	client    *client.Client
	informers *informer.Factory
	queue     *controller.Trigger
	absent    absentOwners
	moments   moments

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

// observe determines the state of the owners of obj and, where the decision needs them, its dependents.
func (g *graph) observe(ctx context.Context, c *cache, obj object) (input, error) {
	s := input{location: location{c.GroupVersionResource}, object: obj}
	awaited := false
	for _, r := range obj.OwnerReferences {
		o, err := g.owner(ctx, obj, r)
		if err != nil {
			return s, err
		}
		if o.state == unserved && !g.await(c, obj, r) {
			return s, fmt.Errorf("%s has just started to be served", r.Kind)
		}
		awaited = awaited || o.state == waiting
		s.owners = append(s.owners, o)
	}
	var err error
	switch {
	case orphansDependents(obj):
		s.dependents, err = g.orphans(ctx, cached{c, obj})
	case waitsForDependents(obj):
		s.dependents, s.circle, err = g.blockers(ctx, cached{c, obj})
	case awaited:
		s.dependents, err = g.dependents(obj)
	}
	return s, err
}

// owner determines the state of the owner that r names. Only the server, or an observed deletion, can
// establish that an owner is absent. Only the server can establish that it waits for its dependents, because
// the cached owner may since have been changed to orphan them.
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
		o.state, o.elsewhere = unresolvable, g.elsewhere(c, r)
		return o, nil
	}
	there, err := c.objects.Indexer().Find(key)
	if err == nil && there.UID == r.UID && stateOf(there) == present {
		o.state = present
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
		g.absent.remember(ownerKey{kindOf(r), key.Namespace, r.Name, r.UID}, o.elsewhere)
	default:
		return o, fmt.Errorf("checking whether its owner %s %s exists: %w", r.Kind, r.Name, err)
	}
	return o, nil
}

func stateOf(owner object) state {
	if waitsForDependents(owner) {
		return waiting
	}
	return present
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
		if there, ok := c.objects.Indexer().Get(informer.Key{Namespace: namespace.Name, Name: r.Name}); ok &&
			there.UID == r.UID {
			return true
		}
	}
	return false
}
