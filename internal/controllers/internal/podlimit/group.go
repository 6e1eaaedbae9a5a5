package podlimit

import (
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
)

// Group counts the pods of objects that share the limits if they have the same controller, such as the ReplicaSets of
// one Deployment: a client chooses the number of pods by the Deployment alone.
type Group[T client.Object] struct {
	objects *informer.Informer[T]
	pods    ownership.Cache[*corev1.Pod]
	parent  schema.GroupKind
}

// NewGroup returns the group of a kind of objects, for controllers of the kind parent.
func NewGroup[T client.Object](objects *informer.Informer[T], pods ownership.Cache[*corev1.Pod],
	parent schema.GroupKind) Group[T] {
	objects.Indexer().AddHeadIndex("owner", informer.ByOwner)
	return Group[T]{objects, pods, parent}
}

// Usage returns the usage of an object and of those that share the limits with it.
func (g Group[T]) Usage(obj T, now time.Time) Usage {
	uids := []types.UID{obj.GetUID()}
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil &&
		schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() == g.parent {
		for other := range g.objects.Indexer().Each("owner", string(owner.UID)) {
			if other.GetUID() != obj.GetUID() {
				uids = append(uids, other.GetUID())
			}
		}
	}
	usage := Count(now, g.controlledBy(uids))
	usage.Shared = len(uids) > 1
	return usage
}

// controlledBy returns the pods that the objects control.
func (g Group[T]) controlledBy(uids []types.UID) iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for _, uid := range uids {
			for _, pod := range g.pods.ControlledBy(uid) {
				if !yield(pod) {
					return
				}
			}
		}
	}
}
