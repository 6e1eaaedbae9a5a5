package garbagecollector

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/discovery"
)

// unservedRetention is how long the cache of a resource is retained after the resource, or its version, stopped being
// served. The deletions of its last objects have yet to arrive, and the resource may come back.
const unservedRetention = time.Minute

// maxWait limits how long new caches are waited for before the objects in the others are processed; until a
// cache is filled, single owners are read from the server. It also limits how long a deletion waits for a
// kind that cannot be listed, counted from the first failure.
const maxWait = 30 * time.Second

// cache holds the metadata of the objects of one resource.
type cache struct {
	discovery.Resource
	objects      *informer.Informer[object]
	registration *informer.Registration // nil until the cache was filled
	// when the resource or version was found to be no longer served; zero while it is served
	unservedSince time.Time
	since         time.Time      // when the cache was created
	listing       chan struct{}  // semaphore of size one for lists that supplement the cache
	covered       coverage       // result of the last such list; guarded by listing
	failures      *failureStreak // since when these lists have failed, and when to try again
}

// kind returns the kind by which references name the objects.
func (c *cache) kind() schema.GroupKind { return schema.GroupKind{Group: c.Group, Kind: c.Kind} }

// requestOf returns the controller's request for an object; its name is prefixed with the resource.
func requestOf(resource schema.GroupResource, key informer.Key) controller.Request {
	return controller.Request{Namespace: key.Namespace, Name: resource.String() + "/" + key.Name}
}

// updateCaches creates a cache for each resource that has none yet and enqueues the objects in it. complete reports
// whether discovery was complete.
func (g *graph) updateCaches(ctx context.Context, found []discovery.Resource, complete bool) {
	fresh, dropped := g.serve(found, complete)
	for _, c := range dropped {
		g.drop(c)
	}
	waiting, cancel := context.WithTimeout(ctx, maxWait)
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
		c.registration = c.objects.AddHandler(handler{g, c.GroupVersionResource})
	}
	for kind, requests := range g.unserved {
		if g.kinds[kind] != nil {
			for request := range requests {
				g.queue.Add(request)
			}
			delete(g.unserved, kind)
		}
	}
}

// firstRediscovery and lastRediscovery are the delays of the first and the last rediscovery after a hint that a
// new resource is served. A server may announce a resource before it serves it, and may serve a new
// version without any further event.
const (
	firstRediscovery = time.Second
	lastRediscovery  = 10 * time.Second
)

// rediscover schedules rediscovery because the set of served resources may have changed.
func (g *graph) rediscover() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.changedAt = time.Now()
	g.queue.Add(discoverRequest)
}

// rediscoverAfter returns the delay until the next rediscovery; 0 means none before the next call of rediscover.
func (g *graph) rediscoverAfter(now time.Time) time.Duration {
	awaits := g.awaitsDefinition(now)
	g.mu.RLock()
	defer g.mu.RUnlock()
	lingers := g.untilFirstDrop(now)
	switch age := now.Sub(g.changedAt); {
	case age < firstRediscovery || awaits:
		return firstRediscovery
	case age < lastRediscovery && (lingers == 0 || lastRediscovery-age < lingers):
		return lastRediscovery - age
	}
	return lingers
}

// untilFirstDrop returns the time until the first unserved cache is due to be dropped, and 0 if there is none. The
// caller holds the lock.
func (g *graph) untilFirstDrop(now time.Time) (first time.Duration) {
	for at, c := range g.caches {
		if g.served[at.GroupResource()] == c {
			continue
		}
		if left := max(firstRediscovery, c.unservedSince.Add(unservedRetention).Sub(now)); first == 0 || left < first {
			first = left
		}
	}
	return first
}

// awaitsDefinition reports whether a recent definition's objects are not served yet. A server starts serving them a
// moment after the definition becomes established, or never if its names conflict with another definition.
func (g *graph) awaitsDefinition(now time.Time) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for d := range informer.For[object](g.informers, definitions).Indexer().All() {
		if g.served[schema.ParseGroupResource(d.Name)] == nil && now.Sub(d.CreationTimestamp.Time) < time.Minute {
			return true
		}
	}
	return false
}

// serve replaces the served resources and returns the newly created caches and those to drop.
func (g *graph) serve(found []discovery.Resource, complete bool) (fresh, dropped []*cache) {
	g.mu.Lock()
	defer g.mu.Unlock()
	served := map[schema.GroupResource]*cache{}
	if !complete { // a group that does not answer at the moment may still hold dependents
		maps.Copy(served, g.served) // nil before the first discovery
	}
	for _, r := range found {
		if !isTracked(r) || isAlias(r, found) {
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
	return fresh, g.expired(time.Now())
}

// expired removes from the graph the caches that have not been served for longer than unservedRetention, and returns
// them. The caller holds the lock.
func (g *graph) expired(now time.Time) (caches []*cache) {
	for at, c := range g.caches {
		switch {
		case g.served[at.GroupResource()] == c:
		case c.unservedSince.IsZero():
			c.unservedSince = now
		case now.Sub(c.unservedSince) >= unservedRetention:
			caches = append(caches, c)
			delete(g.caches, at)
		}
	}
	return caches
}

// drop stops a cache. The cache will not report what happens to its last objects, so drop enqueues their
// owners, their dependents and the objects themselves. It also unregisters objects that wait for the kinds of
// their owners; those still served in another version register again when they are reconciled.
func (g *graph) drop(c *cache) {
	if c.registration != nil {
		c.registration.Remove()
	}
	h := handler{g, c.GroupVersionResource}
	for last := range c.objects.Indexer().All() {
		h.enqueueOwners(last)
		h.enqueue(g.dependentsOf(last.UID))
		if len(last.OwnerReferences) > 0 {
			h.unregister(h.request(last), last.OwnerReferences)
			g.queue.Add(h.request(last))
		}
	}
	informer.Drop[object](g.informers, c.GroupVersionResource)
}

// cacheOf returns the cache of a resource, whose description may have changed since it was cached. The caller
// holds the lock.
func (g *graph) cacheOf(r discovery.Resource) (c *cache, isNew bool) {
	c = &cache{Resource: r, since: time.Now(), listing: make(chan struct{}, 1), failures: &failureStreak{}}
	before := g.caches[r.GroupVersionResource]
	g.caches[r.GroupVersionResource] = c
	if before != nil {
		c.objects, c.registration, c.since, c.failures = before.objects, before.registration, before.since,
			before.failures
		return c, false
	}
	c.objects = informer.For[object](g.informers, r.GroupVersionResource)
	c.objects.Indexer().AddHeadIndex("owner", informer.ByOwner)
	return c, true
}

// isTracked reports whether the objects of a resource can own or be owned. Events are excluded: the server
// expires them.
func isTracked(r discovery.Resource) bool {
	isEvent := r.Resource == "events" && (r.Group == "" || r.Group == "events.k8s.io")
	return r.Serves("list") && r.Serves("watch") && r.Serves("delete") && !isEvent
}

// aliasGroup is the API group whose resources are also served by other groups, as the same objects.
const aliasGroup = "extensions"

// isAlias reports whether r serves the same objects as a resource of another group.
func isAlias(r discovery.Resource, found []discovery.Resource) bool {
	return !original(r, found).Empty()
}

// original returns the resource of which r is an alias, or an empty one.
func original(r discovery.Resource, found []discovery.Resource) schema.GroupResource {
	if r.Group != aliasGroup {
		return schema.GroupResource{}
	}
	at := slices.IndexFunc(found, func(o discovery.Resource) bool {
		return o.Group != aliasGroup && o.Resource == r.Resource && o.Kind == r.Kind
	})
	if at < 0 {
		return schema.GroupResource{}
	}
	return found[at].GroupResource()
}
