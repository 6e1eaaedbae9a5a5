package garbagecollector

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/resources"
)

// linger is how long the cache of a resource is kept that is not served any more, or in another version: what became of its last
// objects is still to be told of, and it may come back.
const linger = time.Minute

// patience is how long new caches are waited for before what is in the others is looked at. Who is in none of them is asked for
// from the server then, one by one. It is also how long a kind is waited for that cannot be listed, from when that failed first.
const patience = 30 * time.Second

// cache is the metadata of the objects of a resource.
type cache struct {
	resources.Resource
	objects *informer.Informer[object]
	told    *informer.Registration // nil until the cache was filled
	gone    time.Time              // when it was found that nobody serves it any more, or another version; zero while it is served
	since   time.Time              // when the cache was made
	asking  chan struct{}          // has room for one who asks the server what the cache does not show
	shown   known                  // what came of that
	lapse   *lapse                 // since when nothing comes of that
}

// kind is what references call it.
func (c *cache) kind() schema.GroupKind { return schema.GroupKind{Group: c.Group, Kind: c.Kind} }

// request is what the controller calls an object: the resource is a part of the name.
func requestOf(resource schema.GroupResource, key informer.Key) controller.Request {
	return controller.Request{Namespace: key.Namespace, Name: resource.String() + "/" + key.Name}
}

// follow makes a cache of each resource that has none yet, and has everything in it looked at. whole says that nothing was missed
// in finding out which resources there are.
func (g *graph) follow(ctx context.Context, found []resources.Resource, whole bool) {
	fresh, dropped := g.serve(found, whole)
	for _, c := range dropped {
		g.drop(c)
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, c := range fresh {
		select {
		case <-c.objects.Synced():
		case <-waiting.Done():
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range fresh {
		c.told = c.objects.AddHandler(handler{g, c.GroupVersionResource})
	}
	for kind, requests := range g.unserved {
		if g.kinds[kind] != nil {
			for request := range requests {
				g.look.Add(request)
			}
			delete(g.unserved, kind)
		}
	}
}

// How soon to look again after something may have come to be served, and until when: a server may tell of it before it serves it,
// and of a version that is new to it nothing else tells.
const (
	soon    = time.Second
	settled = 10 * time.Second
)

// news has looked for what there is, since something else may be served from now on.
func (g *graph) news() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.heard = time.Now()
	g.look.Add(everything)
}

// unsettled is when to look again for what there is; 0 for when there are news.
func (g *graph) unsettled(now time.Time) time.Duration {
	awaits := g.awaits(now)
	g.mu.RLock()
	defer g.mu.RUnlock()
	lingers := g.lingers(now)
	switch age := now.Sub(g.heard); {
	case age < soon || awaits:
		return soon
	case age < settled && (lingers == 0 || settled-age < lingers):
		return settled - age
	}
	return lingers
}

// lingers is when the first cache has been of no use for long enough; 0 when there is none. The lock is held.
func (g *graph) lingers(now time.Time) (first time.Duration) {
	for at, c := range g.caches {
		if g.served[at.GroupResource()] == c {
			continue
		}
		if left := max(soon, c.gone.Add(linger).Sub(now)); first == 0 || left < first {
			first = left
		}
	}
	return first
}

// awaits says that a definition has come whose objects are not served yet. Servers begin to a moment after it says that it is
// established, or never, if its names are another's.
func (g *graph) awaits(now time.Time) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for d := range informer.For[object](g.informers, definitions).Indexer().All() {
		if g.served[schema.ParseGroupResource(d.Name)] == nil && now.Sub(d.CreationTimestamp.Time) < time.Minute {
			return true
		}
	}
	return false
}

// serve takes over what is served now, and returns the caches that are new, and those that are of no use any more.
func (g *graph) serve(found []resources.Resource, whole bool) (fresh, dropped []*cache) {
	g.mu.Lock()
	defer g.mu.Unlock()
	served := map[schema.GroupResource]*cache{}
	if !whole { // what does not answer at the moment may have dependents all the same
		served = maps.Clone(g.served)
	}
	for _, r := range found {
		if !isCollected(r) || isAlias(r, found) {
			continue
		}
		c, isNew := g.cacheOf(r)
		if isNew {
			fresh = append(fresh, c)
		}
		served[r.GroupResource()] = c
	}
	g.served, g.kinds = served, map[schema.GroupKind]*cache{}
	for _, c := range served {
		g.kinds[c.kind()] = c
	}
	for _, r := range found {
		if c := served[original(r, found)]; isAlias(r, found) && c != nil {
			g.kinds[schema.GroupKind{Group: r.Group, Kind: r.Kind}] = c
		}
	}
	return fresh, g.outlived(time.Now())
}

// outlived are the caches of what has not been served for a while, or in another version. They are not known any more. The lock
// is held.
func (g *graph) outlived(now time.Time) (caches []*cache) {
	for at, c := range g.caches {
		switch {
		case g.served[at.GroupResource()] == c:
		case c.gone.IsZero():
			c.gone = now
		case now.Sub(c.gone) >= linger:
			caches = append(caches, c)
			delete(g.caches, at)
		}
	}
	return caches
}

// drop ends a cache. What became of its last objects it does not tell: whoever has to do with them is looked at. Those of them
// that wait for the kinds of their owners do so no more, unless they are served in another version and are found to.
func (g *graph) drop(c *cache) {
	if c.told != nil {
		c.told.Remove()
	}
	h := handler{g, c.GroupVersionResource}
	for last := range c.objects.Indexer().All() {
		h.lookAtOwners(last)
		h.lookAt(g.dependentsOf(last.UID))
		if len(last.OwnerReferences) > 0 {
			h.forget(h.request(last), last.OwnerReferences)
			g.look.Add(h.request(last))
		}
	}
	informer.Drop[object](g.informers, c.GroupVersionResource)
}

// cacheOf is the cache of a resource, which may have come back as something else. The lock is held.
func (g *graph) cacheOf(r resources.Resource) (c *cache, isNew bool) {
	c = &cache{Resource: r, since: time.Now(), asking: make(chan struct{}, 1), lapse: &lapse{}}
	before := g.caches[r.GroupVersionResource]
	g.caches[r.GroupVersionResource] = c
	if before != nil {
		c.objects, c.told, c.since, c.lapse = before.objects, before.told, before.since, before.lapse
		return c, false
	}
	c.objects = informer.For[object](g.informers, r.GroupVersionResource)
	c.objects.Indexer().AddHeadIndex("owner", informer.ByOwner)
	return c, true
}

// isCollected says whether the objects of a resource can be owners or be owned. An event is about its object, and ends by itself.
func isCollected(r resources.Resource) bool {
	isEvent := r.Resource == "events" && (r.Group == "" || r.Group == "events.k8s.io")
	return r.Serves("list") && r.Serves("watch") && r.Serves("delete") && !isEvent
}

// moved is the group whose resources have gone elsewhere, and are the same objects there.
const moved = "extensions"

// isAlias says whether the objects of a resource are those of another one.
func isAlias(r resources.Resource, found []resources.Resource) bool {
	return !original(r, found).Empty()
}

// original is the resource that one of the group of those that have moved is now, or empty.
func original(r resources.Resource, found []resources.Resource) schema.GroupResource {
	if r.Group != moved {
		return schema.GroupResource{}
	}
	at := slices.IndexFunc(found, func(o resources.Resource) bool {
		return o.Group != moved && o.Resource == r.Resource && o.Kind == r.Kind
	})
	if at < 0 {
		return schema.GroupResource{}
	}
	return found[at].GroupResource()
}
