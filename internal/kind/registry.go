package kind

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// Registry holds the kinds that a server serves. It is safe for concurrent use. Lookups do not lock: each
// change publishes a new table.
type Registry struct {
	mu    sync.Mutex // serializes changes
	table atomic.Pointer[table]
}

// table is an immutable state of a registry.
type table struct {
	generation uint64
	replaced   chan struct{} // closed when the next table is published
	kinds      []Kind
	byResource map[schema.GroupVersionResource]Entry
	stored     map[schema.GroupResource]Kind
}

// Entry is a kind and the endpoint through which it is served. The endpoint belongs to the kind's Info.
type Entry struct {
	Kind     Kind
	Endpoint *Endpoint
}

// NewRegistry returns a registry of kinds. It panics if two kinds are stored under the same resource.
func NewRegistry(kinds ...Kind) *Registry {
	r := &Registry{}
	t := newTable(0, kinds)
	for _, k := range kinds {
		if gr := k.Info().GroupResource(); t.stored[gr] != k {
			panic(fmt.Sprintf("kind: two kinds are stored as %s", gr))
		}
	}
	r.table.Store(t)
	return r
}

func newTable(generation uint64, kinds []Kind) *table {
	t := &table{
		generation: generation,
		replaced:   make(chan struct{}),
		kinds:      kinds,
		byResource: make(map[schema.GroupVersionResource]Entry, len(kinds)),
		stored:     make(map[schema.GroupResource]Kind, len(kinds)),
	}
	for _, k := range kinds {
		info := k.Info()
		t.stored[info.GroupResource()] = k
		for i := range info.Endpoints {
			if e := &info.Endpoints[i]; !e.Unserved {
				t.byResource[e.GroupVersion().WithResource(info.Plural)] = Entry{In(k, e), e}
			}
		}
	}
	return t
}

// Find returns the kind that serves a resource.
func (r *Registry) Find(gvr schema.GroupVersionResource) (Entry, bool) {
	e, ok := r.table.Load().byResource[gvr]
	return e, ok
}

// Stored returns the kind whose objects are stored under a resource.
func (r *Registry) Stored(gr schema.GroupResource) (Kind, bool) {
	k, ok := r.table.Load().stored[gr]
	return k, ok
}

// Kinds returns all kinds, in the order in which they were added. The caller must not modify the slice.
func (r *Registry) Kinds() []Kind { return r.table.Load().kinds }

// Generation returns the number of changes of the registry, as a key for caches of what is derived from it.
func (r *Registry) Generation() uint64 { return r.table.Load().generation }

// Changed returns a channel that is closed at the next change of the registry.
func (r *Registry) Changed() <-chan struct{} { return r.table.Load().replaced }

// Put adds kinds, replacing those that are stored under the same resources.
func (r *Registry) Put(added ...Kind) {
	r.change(func(kinds []Kind) []Kind {
		for _, k := range added {
			gr := k.Info().GroupResource()
			if _, found := r.Stored(gr); !found {
				kinds = append(kinds, k)
				continue
			}
			kinds[slices.IndexFunc(kinds, func(o Kind) bool { return o.Info().GroupResource() == gr })] = k
		}
		return kinds
	})
}

// Remove removes the kind that is stored under a resource.
func (r *Registry) Remove(gr schema.GroupResource) {
	r.change(func(kinds []Kind) []Kind {
		return slices.DeleteFunc(kinds, func(k Kind) bool { return k.Info().GroupResource() == gr })
	})
}

func (r *Registry) change(edit func([]Kind) []Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.table.Load()
	r.table.Store(newTable(old.generation+1, edit(slices.Clone(old.kinds))))
	close(old.replaced)
}

// Groups returns the served API groups: see GroupsOf.
func (r *Registry) Groups() []Group { return GroupsOf(r.Kinds()) }

// Group is an API group with its served versions, the preferred one first.
type Group struct {
	Name     string
	Versions []string
}

// GroupsOf returns the groups in which kinds are served, in the order of their first kinds. Versions are in
// Kubernetes' order: v2, v1, v1beta1.
func GroupsOf(kinds []Kind) []Group {
	versions := map[string][]string{}
	var order []string
	for _, k := range kinds {
		for _, e := range k.Info().Endpoints {
			if e.Unserved || slices.Contains(versions[e.Group], e.Version) {
				continue
			}
			if versions[e.Group] == nil {
				order = append(order, e.Group)
			}
			versions[e.Group] = append(versions[e.Group], e.Version)
		}
	}
	groups := make([]Group, 0, len(order))
	for _, name := range order {
		v := versions[name]
		slices.SortFunc(v, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
		groups = append(groups, Group{name, v})
	}
	return groups
}
