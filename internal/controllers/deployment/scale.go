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

	"github.com/bowline-dev/bowline/internal/controllers/action"
)

// scaled is the reason of the event that tells of a replicaset's new size.
const scaled = "ScalingReplicaSet"

func scaling(name string, from, to int32) string {
	direction := "up"
	if to < from {
		direction = "down"
	}
	return fmt.Sprintf("Scaled %s replica set %s from %d to %d", direction, name, from, to)
}

// size is how many pods the deployment should have.
func (r *rollout) size() int32 {
	if r.spec.Replicas == nil {
		return 1
	}
	return *r.spec.Replicas
}

// bounds are how many pods more there may be while one replicaset takes over from another, and how many fewer.
func (r *rollout) bounds() (surge, unavailable int32) {
	update := r.spec.Strategy.RollingUpdate
	if r.spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || update == nil {
		return 0, 0
	}
	surge, unavailable = share(update.MaxSurge, r.size(), true), share(update.MaxUnavailable, r.size(), false)
	if surge == 0 && unavailable == 0 { // both percentages come to nothing, and nothing could ever move
		unavailable = 1
	}
	return surge, min(unavailable, r.size())
}

// share is a number, or a percentage of a whole; one that cannot be read is none.
func share(of *intstr.IntOrString, whole int32, up bool) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(of, intstr.FromInt32(0)), int(whole), up)
	if err != nil {
		return 0
	}
	return int32(min(n, math.MaxInt32))
}

// most is how many pods there may be.
func (r *rollout) most() int32 {
	surge, _ := r.bounds()
	return r.size() + surge
}

// least is how many pods must be available, where there are as many.
func (r *rollout) least() int32 {
	_, unavailable := r.bounds()
	return r.size() - unavailable
}

// setSize gives a replicaset, which is the caller's own, a size, and the deployment's that it follows from.
func (r *rollout) setSize(set *appsv1.ReplicaSet, size int32) {
	set.Spec.Replicas = &size
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, DesiredAnnotation, strconv.Itoa(int(r.size())))
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, MaxAnnotation, strconv.Itoa(int(r.most())))
}

// scale gives a replicaset another size. It is false when there is nothing to do.
func (r *rollout) scale(set *appsv1.ReplicaSet, size int32) bool {
	before := replicas(set)
	known := set.Annotations[DesiredAnnotation] == strconv.Itoa(int(r.size())) && set.Annotations[MaxAnnotation] == strconv.Itoa(int(r.most()))
	if before == size && known {
		return false
	}
	next := set.DeepCopy()
	r.setSize(next, size)
	update := action.Update[*appsv1.ReplicaSet]{In: setsResource, Object: next}
	if before != size {
		update.Tell = action.Tell{About: r.Deployment, Reason: scaled, Message: scaling(set.Name, before, size)}
	}
	r.replace(set, next, update)
	return true
}

// replace has a replicaset be another one for the rest of the decision. What is written to one object is one write.
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

// resized says that the deployment has another size than when its replicasets were scaled.
func (r *rollout) resized() bool {
	for _, set := range r.all() {
		had, known := set.Annotations[DesiredAnnotation]
		if replicas(set) > 0 && known && had != strconv.Itoa(int(r.size())) {
			return true
		}
	}
	return false
}

// mixed says that a deployment which recreates has pods of several replicasets, as after it has rolled until now. What its size
// is worth to each of them is no matter then: the old ones end.
func (r *rollout) mixed() bool {
	return r.spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType && len(r.active()) > 1
}

// active are the replicasets that should have pods.
func (r *rollout) active() (active []*appsv1.ReplicaSet) {
	for _, set := range r.all() {
		if replicas(set) > 0 {
			active = append(active, set)
		}
	}
	return active
}

// resize brings the replicasets together to the deployment's size. Where several have pods, as in the middle of a rollout, each
// gets its share of what is added or taken, so that whatever the new template is worth, the risk stays as it was.
func (r *rollout) resize() {
	active := r.active()
	switch {
	case len(active) == 1:
		r.give(active, r.size())
	case len(active) == 0 && r.latest() != nil:
		r.give([]*appsv1.ReplicaSet{r.latest()}, r.size())
	case len(active) == 0:
	case r.saturated():
		for _, set := range slices.Clone(r.old) {
			if replicas(set) > 0 {
				r.scale(set, 0)
			}
		}
	case r.spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType:
		r.spread(active)
	}
}

// latest is the replicaset of the template, or the one that was last.
func (r *rollout) latest() *appsv1.ReplicaSet {
	if r.next != nil || len(r.old) == 0 {
		return r.next
	}
	return slices.MaxFunc(r.old, byAge)
}

// saturated says that the new replicaset has all pods that there should be, and they are available.
func (r *rollout) saturated() bool {
	size := r.size()
	return r.next != nil && replicas(r.next) == size && r.next.Status.AvailableReplicas == size &&
		r.next.Annotations[DesiredAnnotation] == strconv.Itoa(int(size))
}

// spread adds to replicasets, or takes from them, in proportion to their size; the first gets what is left by rounding.
func (r *rollout) spread(active []*appsv1.ReplicaSet) {
	allowed := int32(0)
	if r.size() > 0 {
		allowed = r.most()
	}
	change := allowed - wanted(active)
	// What is added goes to the largest, and of equals to the newest; what is taken comes from the largest and oldest.
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
	r.give(active, sizes...)
}

// give gives replicasets their sizes. None grows by more than there is room for: the pods that others have not let go yet count
// too, or there would be too many until they have. What is missing then comes with the rollout, or in the next step of who is
// paused.
func (r *rollout) give(sets []*appsv1.ReplicaSet, sizes ...int32) {
	there, known := held(r.all())
	room := max(0, r.most()-there)
	for i, set := range sets {
		size, grows := sizes[i], sizes[i]-replicas(set)
		switch {
		case grows > 0 && !known:
			continue // until all have told
		case grows > 0:
			size = replicas(set) + min(grows, room)
			room -= size - replicas(set)
		}
		r.scale(set, size)
	}
}

// proportion is what a replicaset gets of a change, of which something is left.
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
	// A replicaset of the size that it had of the whole has it of the new whole too.
	whole := float64(r.most())
	part := int32(math.Round(float64(replicas(set))*whole/float64(was))) - replicas(set)
	if change > 0 {
		return min(part, left)
	}
	return max(part, left)
}
