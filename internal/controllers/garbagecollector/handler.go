package garbagecollector

import (
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// handler has everything looked at that a change of an object concerns: the object, its owners, its dependents.
type handler struct {
	*graph
	in schema.GroupVersionResource
}

var _ informer.Thorough[object] = handler{}

// OnAdd implements informer.Handler.
func (h handler) OnAdd(obj object, _ bool) {
	h.hears()
	h.changed(obj)
}

// OnUpdate implements informer.Handler.
func (h handler) OnUpdate(old, obj object) {
	h.hears()
	if isSame(old, obj) {
		return
	}
	h.forget(h.request(obj), old.OwnerReferences) // until it is looked at
	h.changed(obj)
	h.lookAtOwners(old)
}

// isSame says that nothing has changed that has to do with owners. A resync is no change, and is looked at.
func isSame(old, obj object) bool {
	return old.ResourceVersion != obj.ResourceVersion && (old.DeletionTimestamp == nil) == (obj.DeletionTimestamp == nil) &&
		slices.Equal(old.Finalizers, obj.Finalizers) && reflect.DeepEqual(old.OwnerReferences, obj.OwnerReferences)
}

// OnDelete implements informer.Handler.
func (h handler) OnDelete(obj object, finalStateUnknown bool) {
	h.hears()
	h.lookAtOwners(obj)
	h.forget(h.request(obj), obj.OwnerReferences)
	if dependents := h.dependentsOf(obj.UID); len(dependents) > 0 {
		if !finalStateUnknown {
			h.gone(h.in, obj)
		}
		h.lookAt(dependents)
	}
}

// OnVanish implements informer.Thorough: somebody may have waited for an object, or have taken it for an owner, that came and
// went.
func (h handler) OnVanish(obj object, finalStateUnknown bool) { h.OnDelete(obj, finalStateUnknown) }

func (h handler) request(obj object) controller.Request {
	return requestOf(h.in.GroupResource(), informer.KeyOf(obj))
}

// services are what extends a server by those of others, of which no definition tells.
var services = schema.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"}

// hears looks for what there is when something that extends it comes, changes or goes.
func (h handler) hears() {
	if h.in.GroupResource() == services {
		h.news()
	}
}

func (h handler) changed(obj object) {
	if len(obj.OwnerReferences) > 0 || obj.DeletionTimestamp != nil {
		h.look.Add(h.request(obj))
	}
	if waits(obj) {
		h.lookAt(h.dependentsOf(obj.UID))
	}
}

// perDependent is how much later, for each of its dependents, an owner is looked at that waits for them. To look through ten
// thousand whenever one of them goes would be to look at each of them ten thousand times.
const perDependent = 20 * time.Microsecond

// lookAtOwners has the owners looked at that wait for an object.
func (h handler) lookAtOwners(obj object) {
	for _, r := range obj.OwnerReferences {
		if c, key, ok := h.ownerOf(obj, r); ok {
			if owner, cached := c.objects.Indexer().Get(key); cached && waits(owner) {
				h.look.AddAfter(requestOf(c.GroupResource(), key), perDependent*time.Duration(h.countOf(owner.UID)))
			}
		}
	}
}

func (h handler) lookAt(dependents []cached) {
	for _, d := range dependents {
		h.look.Add(requestOf(d.GroupResource(), informer.KeyOf(d.object)))
	}
}

// waits says that an object is being deleted, and waits for its dependents to go first.
func waits(obj object) bool {
	return obj.DeletionTimestamp != nil && slices.Contains(obj.Finalizers, metav1.FinalizerDeleteDependents)
}

// isOrphaner says that an object is being deleted, and leaves its dependents to themselves.
func isOrphaner(obj object) bool {
	return obj.DeletionTimestamp != nil && slices.Contains(obj.Finalizers, metav1.FinalizerOrphanDependents)
}

// coordinates are where a reference says that an owner is.
type coordinates struct {
	schema.GroupKind
	namespace, name string
	uid             types.UID
}

// kindOf is what a reference refers to.
func kindOf(r metav1.OwnerReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
}
