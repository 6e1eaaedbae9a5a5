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

// handler enqueues every object that a change of one object affects: the object itself, its owners and its
// dependents.
type handler struct {
	*graph
	in schema.GroupVersionResource
}

var _ informer.VanishHandler[object] = handler{}

// OnAdd implements informer.Handler.
func (h handler) OnAdd(obj object, _ bool) {
	h.noteAPIService()
	h.enqueueChanged(obj)
}

// OnUpdate implements informer.Handler.
func (h handler) OnUpdate(old, obj object) {
	h.noteAPIService()
	if sameOwnership(old, obj) {
		return
	}
	h.unregister(h.request(obj), old.OwnerReferences) // reconciling the object registers it anew
	h.enqueueChanged(obj)
	h.enqueueOwners(old)
}

// sameOwnership reports whether an update changed nothing that ownership depends on. A resync, where both resource
// versions are equal, returns false so that the object is reconciled.
func sameOwnership(old, obj object) bool {
	return old.ResourceVersion != obj.ResourceVersion &&
		(old.DeletionTimestamp == nil) == (obj.DeletionTimestamp == nil) &&
		slices.Equal(old.Finalizers, obj.Finalizers) && reflect.DeepEqual(old.OwnerReferences, obj.OwnerReferences)
}

// OnDelete implements informer.Handler.
func (h handler) OnDelete(obj object, finalStateUnknown bool) {
	h.noteAPIService()
	h.enqueueOwners(obj)
	h.unregister(h.request(obj), obj.OwnerReferences)
	if dependents := h.dependentsOf(obj.UID); len(dependents) > 0 {
		if !finalStateUnknown {
			h.markAbsent(h.in, obj)
		}
		h.enqueue(dependents)
	}
}

// OnVanish implements informer.VanishHandler. An object that was created and deleted between two lists may have
// had waiting owners or dependents, so OnVanish handles it like a deletion.
func (h handler) OnVanish(obj object, finalStateUnknown bool) { h.OnDelete(obj, finalStateUnknown) }

func (h handler) request(obj object) controller.Request {
	return requestOf(h.in.GroupResource(), informer.KeyOf(obj))
}

// services is the resource of APIServices, which add resources to a server without a
// CustomResourceDefinition.
var services = schema.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"}

// noteAPIService schedules rediscovery if the handler watches APIServices.
func (h handler) noteAPIService() {
	if h.in.GroupResource() == services {
		h.rediscover()
	}
}

func (h handler) enqueueChanged(obj object) {
	if len(obj.OwnerReferences) > 0 || obj.DeletionTimestamp != nil {
		h.queue.Add(h.request(obj))
	}
	if waitsForDependents(obj) {
		h.enqueue(h.dependentsOf(obj.UID))
	}
}

// perDependent delays the reconcile of an owner that waits for its dependents, once per dependent. Without
// the delay, deleting 10,000 dependents would scan all of them 10,000 times.
const perDependent = 20 * time.Microsecond

// enqueueOwners enqueues the owners that wait for obj to be deleted.
func (h handler) enqueueOwners(obj object) {
	for _, r := range obj.OwnerReferences {
		if c, key, ok := h.ownerOf(obj, r); ok {
			if owner, cached := c.objects.Indexer().Get(key); cached && waitsForDependents(owner) {
				h.queue.AddAfter(requestOf(c.GroupResource(), key), perDependent*time.Duration(h.countOf(owner.UID)))
			}
		}
	}
}

func (h handler) enqueue(dependents []cached) {
	for _, d := range dependents {
		h.queue.Add(requestOf(d.GroupResource(), informer.KeyOf(d.object)))
	}
}

// waitsForDependents reports whether obj is being deleted in the foreground, and so remains until its blocking
// dependents are gone.
func waitsForDependents(obj object) bool {
	return obj.DeletionTimestamp != nil && slices.Contains(obj.Finalizers, metav1.FinalizerDeleteDependents)
}

// orphansDependents reports whether obj is being deleted with its dependents orphaned.
func orphansDependents(obj object) bool {
	return obj.DeletionTimestamp != nil && slices.Contains(obj.Finalizers, metav1.FinalizerOrphanDependents)
}

// ownerKey identifies an owner as a reference describes it.
type ownerKey struct {
	schema.GroupKind
	namespace, name string
	uid             types.UID
}

// kindOf returns the group and kind that a reference names.
func kindOf(r metav1.OwnerReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
}
