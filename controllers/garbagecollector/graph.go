package garbagecollector

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/resources"
	"github.com/bowline-dev/bowline/informer"
)

// graph is who owns whom: the caches of all resources, with an index by owner. Nothing else is kept, and nothing is ever gone
// through as a whole: an event of an object concerns the object, its owners and its dependents.
type graph struct {
	manager *controller.Manager
	client  *client.Client
	look    *controller.Trigger

	mu     sync.RWMutex
	caches map[schema.GroupResource]*cache
	kinds  map[schema.GroupKind]*cache // those that are served now
	absent map[types.UID]bool          // owners that the server did not have; their uids never come back
}

// cache is the metadata of the objects of a resource.
type cache struct {
	resources.Resource
	objects *informer.Informer[object]
}

// mostAbsent is how many absent owners are remembered.
const mostAbsent = 10000

// request is what the controller calls an object: the resource is a part of the name.
func (c *cache) request(key informer.Key) controller.Request {
	return controller.Request{Namespace: key.Namespace, Name: c.GroupResource().String() + "/" + key.Name}
}

// follow makes a cache of each resource that can be watched and deleted, and has none.
func (g *graph) follow(found []resources.Resource) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kinds = map[schema.GroupKind]*cache{}
	for _, r := range found {
		if !r.Serves("list") || !r.Serves("watch") || !r.Serves("delete") || r.Resource == "events" {
			continue // an event is about its object, and ends by itself
		}
		c := g.caches[r.GroupResource()]
		if c == nil {
			c = &cache{r, informer.For[object](g.manager.Informers(), r.GroupVersionResource)}
			c.objects.Indexer().AddHeadIndex("owner", informer.ByOwner)
			c.objects.Indexer().AddHeadIndex("name", byName)
			c.objects.AddHandler(handler{g, c})
			g.caches[r.GroupResource()] = c
		}
		g.kinds[schema.GroupKind{Group: r.Group, Kind: r.Kind}] = c
	}
}

// handler has everything looked at that a change concerns.
type handler struct {
	*graph
	*cache
}

// OnAdd implements informer.Handler.
func (h handler) OnAdd(obj object, _ bool) { h.changed(obj) }

// OnUpdate implements informer.Handler.
func (h handler) OnUpdate(old, obj object) {
	h.changed(obj)
	if len(old.OwnerReferences) > 0 {
		h.lookAtOwners(old)
	}
}

// OnDelete implements informer.Handler.
func (h handler) OnDelete(obj object, _ bool) {
	h.lookAtOwners(obj)
	h.lookAtDependents(obj.UID)
}

func (h handler) changed(obj object) {
	if len(obj.OwnerReferences) > 0 || obj.DeletionTimestamp != nil {
		h.look.Add(h.request(informer.KeyOf(obj)))
	}
	if waits(obj) {
		h.lookAtDependents(obj.UID)
	}
}

// lookAtOwners has the owners looked at that wait for an object.
func (h handler) lookAtOwners(obj object) {
	for _, r := range obj.OwnerReferences {
		if c, key, ok := h.ownerOf(obj, r); ok {
			if owner, cached := c.objects.Indexer().Get(key); cached && waits(owner) {
				h.look.Add(c.request(key))
			}
		}
	}
}

func (h handler) lookAtDependents(uid types.UID) {
	for _, d := range h.dependentsOf(uid) {
		h.look.Add(d.cache.request(informer.KeyOf(d.object)))
	}
}

// waits says that an object is being deleted, and waits for its dependents to go first.
func waits(obj object) bool {
	return obj.DeletionTimestamp != nil && has(obj.Finalizers, metav1.FinalizerDeleteDependents)
}

// cached is an object, and where.
type cached struct {
	*cache
	object
}

// dependentsOf are the objects that refer to a uid.
func (g *graph) dependentsOf(uid types.UID) (found []cached) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, c := range g.kinds {
		for obj := range c.objects.Indexer().Each("owner", string(uid)) {
			found = append(found, cached{c, obj})
		}
	}
	return found
}

// ownerOf is where an owner would have to be. It is false for one of a kind that is not served, and for one in a namespace of an
// object in none.
func (g *graph) ownerOf(obj object, r metav1.OwnerReference) (*cache, informer.Key, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	c := g.kinds[schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()]
	switch {
	case c == nil:
		return nil, informer.Key{}, false
	case !c.Namespaced:
		return c, informer.Key{Name: r.Name}, true
	default:
		return c, informer.Key{Namespace: obj.Namespace, Name: r.Name}, obj.Namespace != ""
	}
}

// see finds out what has become of an object's owners, and who depends on it.
func (g *graph) see(ctx context.Context, c *cache, obj object) (seen, error) {
	s := seen{place: place{c.GroupVersionResource}, object: obj}
	for _, r := range obj.OwnerReferences {
		o, err := g.owner(ctx, obj, r)
		if err != nil {
			return s, err
		}
		s.owners = append(s.owners, o)
	}
	if obj.DeletionTimestamp != nil {
		if err := g.complete(); err != nil {
			return s, err
		}
	}
	for _, d := range g.dependentsOf(obj.UID) {
		if d.Namespace == obj.Namespace || obj.Namespace == "" {
			s.dependents = append(s.dependents, dependent{place{d.GroupVersionResource}, d.object})
		}
	}
	return s, nil
}

// complete is an error while a cache is not filled: somebody may be missing then.
func (g *graph) complete() error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, c := range g.kinds {
		select {
		case <-c.objects.Synced():
		default:
			return fmt.Errorf("nobody knows yet which %s depend on it: they are not listed", c.GroupResource())
		}
	}
	return nil
}

// owner finds out what has become of an owner. That one is absent only the server can say.
func (g *graph) owner(ctx context.Context, obj object, r metav1.OwnerReference) (owner, error) {
	o := owner{OwnerReference: r, state: unknowable}
	c, key, ok := g.ownerOf(obj, r)
	if !ok {
		o.namespace, o.elsewhere = g.elsewhere(r)
		return o, nil
	}
	if there, err := c.objects.Indexer().Find(key); err == nil && there.UID == r.UID {
		o.state = stateOf(there)
		return o, nil
	} else if unreadable := (*informer.UnreadableError)(nil); errors.As(err, &unreadable) {
		return o, err
	}
	if g.isAbsent(r.UID) {
		o.state = absent
		return o, nil
	}
	there, err := client.Of[object](g.client, c.GroupVersionResource).Get(ctx, key.Namespace, key.Name)
	switch {
	case err == nil && there.UID == r.UID:
		o.state = stateOf(there)
	case err == nil || apierrors.IsNotFound(err):
		o.state = absent
		o.namespace, o.elsewhere = g.elsewhere(r)
		g.rememberAbsent(r.UID, o.elsewhere)
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

// elsewhere says whether there is an owner in any namespace, and in which.
func (g *graph) elsewhere(r metav1.OwnerReference) (string, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	c := g.kinds[schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()]
	if c == nil || !c.Namespaced {
		return "", false
	}
	for obj := range c.objects.Indexer().Each("name", r.Name) {
		if obj.UID == r.UID {
			return obj.Namespace, true
		}
	}
	return "", false
}

func (g *graph) isAbsent(uid types.UID) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.absent[uid]
}

// rememberAbsent saves asking for an owner of many. One that is elsewhere is told of each time.
func (g *graph) rememberAbsent(uid types.UID, elsewhere bool) {
	if elsewhere {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.absent) >= mostAbsent {
		clear(g.absent)
	}
	g.absent[uid] = true
}

func byName(head informer.Head) []string { return []string{head.Name} }
