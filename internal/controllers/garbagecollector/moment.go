package garbagecollector

import (
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/informer"
	revisions "github.com/bowline-dev/bowline/internal/object"
)

// store identifies resources whose revisions can be compared. The zero value is the server's own store. An
// aggregated server counts its revisions separately, and it is not known whether several of its resources
// share a counter, so each aggregated resource has a store of its own.
type store schema.GroupVersionResource

// managedLabel is the label with which Kubernetes servers mark the APIServices that they create for their own
// groups, and only those.
const managedLabel = "kube-aggregator.kubernetes.io/automanaged"

// storeOf returns the store that holds the objects of c. A resource counts as the server's own only if that
// is certain.
func (g *graph) storeOf(c *cache) store {
	canBeRemote, service := g.serviceOf(c)
	if !canBeRemote || isManaged(service) {
		return store{}
	}
	return store(c.GroupVersionResource)
}

// isRemote reports whether it is known that another server serves c: its APIService exists, and the server did not
// create the APIService itself.
func (g *graph) isRemote(c *cache) bool {
	canBeRemote, service := g.serviceOf(c)
	return canBeRemote && service != nil && !isManaged(service)
}

// serviceOf returns the cached APIService of c, if there is one. canBeRemote is false if the server has no API
// aggregation, and for the core group, which cannot be aggregated.
func (g *graph) serviceOf(c *cache) (canBeRemote bool, service object) {
	g.mu.RLock()
	services := g.served[services]
	g.mu.RUnlock()
	if services == nil || c.Group == "" {
		return false, nil
	}
	service, _ = services.objects.Indexer().Get(informer.Key{Name: c.Version + "." + c.Group})
	return true, service
}

// isManaged reports whether an APIService, which may be nil, is one that the server created for its own group.
func isManaged(service object) bool {
	return service != nil && (service.Labels[managedLabel] == "onstart" || service.Labels[managedLabel] == "true")
}

// moment is a revision of a store and the time at which it was observed.
type moment struct {
	store    store
	revision revisions.Revision
	at       time.Time
}

// newest returns the newest revision of a store that any cache has observed.
func (ob *observer) newest(s store) moment {
	m := moment{store: s, at: time.Now()}
	for _, c := range ob.graph.all() {
		if ob.graph.storeOf(c) == s {
			m.revision = max(m.revision, c.objects.Revision())
		}
	}
	return m
}

// maxMomentAge limits the age of the moment used to determine which dependents an object has. Dependents that were
// added after that moment may be missed; avoiding that would mean listing all kinds anew for each of many
// objects.
const maxMomentAge = 10 * time.Second

// moments holds the latest moment of each store.
type moments struct {
	mu   sync.Mutex
	last map[store]moment
}

// wanted returns the moment that an answer about the dependents of owner must cover: not older than owner's
// own revision, nor older than maxMomentAge.
func (ob *observer) wanted(owner cached) moment {
	ob.moments.mu.Lock()
	defer ob.moments.mu.Unlock()
	s := ob.graph.storeOf(owner.cache)
	m := ob.moments.last[s]
	if m.at.IsZero() || time.Since(m.at) > maxMomentAge {
		m = ob.newest(s)
		if ob.moments.last == nil {
			ob.moments.last = map[store]moment{}
		}
		ob.moments.last[s] = m
	}
	revision, err := revisions.ParseRevision(owner.ResourceVersion)
	if err != nil {
		revision = math.MaxUint64 // not comparable: no cache is new enough
	}
	m.revision = max(m.revision, revision)
	return m
}

// coverage records that a cache showed every object of a namespace at a moment.
type coverage struct {
	namespace string
	moment
}

// covers reports whether c shows every object that the namespace had at the wanted moment. The caller holds
// c.listing.
func (ob *observer) covers(c *cache, namespace string, wanted moment) bool {
	switch {
	case !c.synced():
		return false
	case ob.graph.storeOf(c) == wanted.store && c.objects.Revision() >= wanted.revision:
		return true
	}
	k := c.covered
	return k.namespace == namespace && k.store == wanted.store && k.revision >= wanted.revision &&
		!k.at.Before(wanted.at)
}
