package garbagecollector

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/controller"
)

// mostAbsent is how many absent owners are remembered.
const mostAbsent = 10000

// absentees are owners that are known not to be where references have them: they never come there, since a uid is never given
// twice. They save asking the server for one owner of many, and asking for one of a kind that has gone with its last object. The
// value says whether the owner was somewhere else.
type absentees struct {
	mu     sync.Mutex
	owners map[coordinates]bool
}

// find says whether an owner of an object in a namespace is known to be absent. Nobody knows of a kind that has gone whether its
// objects were in namespaces.
func (a *absentees) find(namespace string, r metav1.OwnerReference) (elsewhere, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if elsewhere, known = a.owners[coordinates{kindOf(r), namespace, r.Name, r.UID}]; known {
		return elsewhere, true
	}
	elsewhere, known = a.owners[coordinates{kindOf(r), "", r.Name, r.UID}]
	return elsewhere, known
}

func (a *absentees) remember(at coordinates, elsewhere bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.owners) >= mostAbsent || a.owners == nil {
		a.owners = map[coordinates]bool{}
	}
	a.owners[at] = elsewhere
}

// gone remembers an object whose deletion was seen.
func (g *graph) gone(resource schema.GroupResource, obj object) {
	g.mu.RLock()
	kind := g.caches[resource].kind()
	g.mu.RUnlock()
	g.absent.remember(coordinates{kind, obj.Namespace, obj.Name, obj.UID}, false)
}

// awaitKind has an object looked at again when a kind is served. It is false when that is so already.
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

// forget takes an object from those that wait for the kinds of their owners.
func (g *graph) forget(request controller.Request, owners []metav1.OwnerReference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range owners {
		waiting := g.unserved[kindOf(r)]
		if delete(waiting, request); len(waiting) == 0 {
			delete(g.unserved, kindOf(r))
		}
	}
}
