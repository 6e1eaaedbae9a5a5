package deployment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// scaled is the reason of events about a ReplicaSet's new size.
const scaled = "ScalingReplicaSet"

func scaling(name string, from, to int32) string {
	direction := "up"
	if to < from {
		direction = "down"
	}
	return fmt.Sprintf("Scaled %s replica set %s from %d to %d", direction, name, from, to)
}

// size returns the desired number of pods.
func (r *rollout) size() int32 {
	if r.spec.Replicas == nil {
		return 1
	}
	return *r.spec.Replicas
}

// bounds returns by how many pods a rollout may exceed the desired number, and by how many it may fall short
// of it.
func (r *rollout) bounds() (surge, unavailable int32) {
	update := r.spec.Strategy.RollingUpdate
	if r.spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || update == nil {
		return 0, 0
	}
	surge, unavailable = share(update.MaxSurge, r.size(), true), share(update.MaxUnavailable, r.size(), false)
	if surge == 0 && unavailable == 0 { // both percentages round to 0, so the rollout could never progress
		unavailable = 1
	}
	return surge, min(unavailable, r.size())
}

// share returns a number or a percentage of whole; 0 if it cannot be parsed.
func share(of *intstr.IntOrString, whole int32, up bool) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(of, intstr.FromInt32(0)), int(whole), up)
	if err != nil {
		return 0
	}
	return int32(min(n, math.MaxInt32))
}

// maxSize returns the maximum number of pods.
func (r *rollout) maxSize() int32 {
	surge, _ := r.bounds()
	return r.size() + surge
}

// minAvailable returns the number of pods that must stay available.
func (r *rollout) minAvailable() int32 {
	_, unavailable := r.bounds()
	return r.size() - unavailable
}

// setSize sets the size of a ReplicaSet, which the caller must have copied, and records the Deployment's
// size.
func (r *rollout) setSize(set *appsv1.ReplicaSet, size int32) {
	set.Spec.Replicas = &size
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, DesiredAnnotation, strconv.Itoa(int(r.size())))
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, MaxAnnotation, strconv.Itoa(int(r.maxSize())))
}

// scale resizes a ReplicaSet. It returns false if nothing changes.
func (r *rollout) scale(set *appsv1.ReplicaSet, size int32) bool {
	before := replicas(set)
	known := set.Annotations[DesiredAnnotation] == strconv.Itoa(int(r.size())) &&
		set.Annotations[MaxAnnotation] == strconv.Itoa(int(r.maxSize()))
	if before == size && known {
		return false
	}
	next := set.DeepCopy()
	r.setSize(next, size)
	update := action.Update[*appsv1.ReplicaSet]{Resource: setsResource, Object: next}
	if before != size {
		update.Events = action.Events{Object: r.Deployment, Reason: scaled, Message: scaling(set.Name, before, size)}
	}
	r.replace(set, next, update)
	return true
}

// replace substitutes a ReplicaSet in the rest of the decision. Several changes of one object become one
// update.
func (r *rollout) replace(set, next *appsv1.ReplicaSet, update action.Update[*appsv1.ReplicaSet]) {
	if r.next == set {
		r.next = next
	}
	for i := range r.old {
		if r.old[i] == set {
			r.old[i] = next
		}
	}
	for i, a := range r.actions {
		if earlier, ok := a.(action.Update[*appsv1.ReplicaSet]); ok && earlier.Object == set {
			r.actions[i] = update
			return
		}
	}
	r.actions = append(r.actions, update)
}

// resized reports whether the Deployment's size has changed since its ReplicaSets were scaled.
func (r *rollout) resized() bool {
	for _, set := range r.all() {
		had, known := set.Annotations[DesiredAnnotation]
		if replicas(set) > 0 && known && had != strconv.Itoa(int(r.size())) {
			return true
		}
	}
	return false
}

// hasMixedTemplates reports whether a Deployment with the Recreate strategy has pods of several ReplicaSets, as after a
// change of strategy. The size is not distributed then, because the old pods are removed.
func (r *rollout) hasMixedTemplates() bool {
	return r.spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType && len(r.active()) > 1
}

// active returns the ReplicaSets that should have pods.
func (r *rollout) active() (active []*appsv1.ReplicaSet) {
	for _, set := range r.all() {
		if replicas(set) > 0 {
			active = append(active, set)
		}
	}
	return active
}

// resize scales the ReplicaSets to the Deployment's size. If several have pods, as during a rollout, each
// gets a proportional share, so that the risk of the new template stays the same.
func (r *rollout) resize() {
	active := r.active()
	switch {
	case len(active) == 1:
		r.setSizes(active, r.size())
	case len(active) == 0 && r.latest() != nil:
		r.setSizes([]*appsv1.ReplicaSet{r.latest()}, r.size())
	case len(active) == 0:
	case r.saturated():
		for _, set := range slices.Clone(r.old) {
			if replicas(set) > 0 {
				r.scale(set, 0)
			}
		}
	case r.spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType:
		r.distribute(active)
	}
}

// latest returns the ReplicaSet of the template, or else the newest one.
func (r *rollout) latest() *appsv1.ReplicaSet {
	if r.next != nil || len(r.old) == 0 {
		return r.next
	}
	return slices.MaxFunc(r.old, byAge)
}

// saturated reports whether the new ReplicaSet has all desired pods, and they are available.
func (r *rollout) saturated() bool {
	size := r.size()
	return r.next != nil && replicas(r.next) == size && r.next.Status.AvailableReplicas == size &&
		r.next.Annotations[DesiredAnnotation] == strconv.Itoa(int(size))
}

// distribute adds or removes pods in proportion to the sizes of the ReplicaSets; the first gets the rounding
// difference.
func (r *rollout) distribute(active []*appsv1.ReplicaSet) {
	allowed := int32(0)
	if r.size() > 0 {
		allowed = r.maxSize()
	}
	change := allowed - desiredPods(active)
	// Pods are added to the largest and newest ReplicaSets first, and removed from the largest and oldest
	// first.
	slices.SortStableFunc(active, func(a, b *appsv1.ReplicaSet) int {
		age := byAge(a, b)
		if change > 0 {
			age = -age
		}
		return cmp.Or(cmp.Compare(replicas(b), replicas(a)), age)
	})
	left, sizes := change, make([]int32, len(active))
	for i, set := range active {
		sizes[i] = replicas(set)
		if change != 0 {
			part := r.proportion(set, change, left)
			sizes[i] += part
			left -= part
		}
	}
	sizes[0] = max(0, sizes[0]+left)
	r.setSizes(active, sizes...)
}

// setSizes sets the sizes of ReplicaSets. None grows beyond the Deployment's maximum, which includes the pods
// that other ReplicaSets have not deleted yet. The missing pods follow with the rollout or, if it is paused,
// in the next step.
func (r *rollout) setSizes(sets []*appsv1.ReplicaSet, sizes ...int32) {
	there, known := maxPods(r.all())
	room := max(0, r.maxSize()-there)
	for i, set := range sets {
		size, grows := sizes[i], sizes[i]-replicas(set)
		switch {
		case grows > 0 && !known:
			continue // until the status of all reflects their specs
		case grows > 0:
			size = replicas(set) + min(grows, room)
			room -= size - replicas(set)
		}
		r.scale(set, size)
	}
}

// proportion returns the share of a ReplicaSet in a change, of which left is still to be distributed.
func (r *rollout) proportion(set *appsv1.ReplicaSet, change, left int32) int32 {
	if left == 0 {
		return 0
	}
	if r.size() == 0 {
		return max(-replicas(set), left)
	}
	was, err := strconv.ParseUint(set.Annotations[MaxAnnotation], 10, 31)
	if err != nil || was == 0 {
		was = uint64(r.Deployment.Status.Replicas)
	}
	if was == 0 {
		return 0
	}
	// The ReplicaSet keeps its fraction of the whole.
	whole := float64(r.maxSize())
	part := int32(math.Round(float64(replicas(set))*whole/float64(was))) - replicas(set)
	if change > 0 {
		return min(part, left)
	}
	return max(part, left)
}
