package garbagecollector

import (
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/informer"
	revisions "github.com/bowline-dev/bowline/object"
)

// store is what revisions are compared within: the zero value is where the server keeps all that it serves itself. What it has
// another server answer for, that one counts for itself, and nobody knows whether it does so for several resources together: each
// of those is a store of its own.
type store schema.GroupVersionResource

// Servers of Kubernetes label so the APIServices that they make of what they serve themselves, and only those.
const managedLabel = "kube-aggregator.kubernetes.io/automanaged"

// storeOf is where the objects of a cache are. Only what is known to be the server's own is taken for it.
func (g *graph) storeOf(c *cache) store {
	g.mu.RLock()
	services := g.served[services]
	g.mu.RUnlock()
	if services == nil || c.Group == "" { // a server that asks no other one, or what no other one serves
		return store{}
	}
	service, there := services.objects.Indexer().Get(informer.Key{Name: c.Version + "." + c.Group})
	if there && (service.Labels[managedLabel] == "onstart" || service.Labels[managedLabel] == "true") {
		return store{}
	}
	return store(c.GroupVersionResource)
}

// moment is a time in the life of a store: when it had come to a revision, and that had been seen.
type moment struct {
	store    store
	revision revisions.Revision
	at       time.Time
}

// newest is up to where a store is known to have come.
func (g *graph) newest(s store) moment {
	m := moment{store: s, at: time.Now()}
	for _, c := range g.all() {
		if g.storeOf(c) == s {
			m.revision = max(m.revision, c.objects.Revision())
		}
	}
	return m
}

// recently is how long ago at most what is known of the dependents of an object was so. What came to belong to it since may be
// missed; to find that out too would be to ask the server for all kinds again for each of many objects.
const recently = 10 * time.Second

// moments are those of not long ago, by store.
type moments struct {
	mu   sync.Mutex
	last map[store]moment
}

// wanted is when the dependents of an object have to be known of: when it got its state, and not longer ago than recently.
func (g *graph) wanted(owner cached) moment {
	g.moments.mu.Lock()
	defer g.moments.mu.Unlock()
	s := g.storeOf(owner.cache)
	m := g.moments.last[s]
	if m.at.IsZero() || time.Since(m.at) > recently {
		m = g.newest(s)
		if g.moments.last == nil {
			g.moments.last = map[store]moment{}
		}
		g.moments.last[s] = m
	}
	revision, err := revisions.ParseRevision(owner.ResourceVersion)
	if err != nil {
		revision = math.MaxUint64 // nobody knows when
	}
	m.revision = max(m.revision, revision)
	return m
}

// known says that a cache shows all that there was in a namespace at some time.
type known struct {
	namespace string
	moment
}

// shows says whether a cache shows all that there was in a namespace at a moment. asking is had.
func (g *graph) shows(c *cache, namespace string, wanted moment) bool {
	switch {
	case !c.filled():
		return false
	case g.storeOf(c) == wanted.store && c.objects.Revision() >= wanted.revision:
		return true
	}
	k := c.shown
	return k.namespace == namespace && k.store == wanted.store && k.revision >= wanted.revision && !k.at.Before(wanted.at)
}
