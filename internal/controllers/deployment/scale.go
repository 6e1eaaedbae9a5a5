package deployment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/bounded"
)

// reasonScaled is the reason of events about a ReplicaSet's new size.
const reasonScaled = "ScalingReplicaSet"

func scalingMessage(name string, from, to int32) string {
	direction := "up"
	if to < from {
		direction = "down"
	}
	return fmt.Sprintf("Scaled %s replica set %s from %d to %d", direction, name, from, to)
}

// scale changes the size of a ReplicaSet. It returns false if nothing changes.
func (s *replicaSets) scale(set *appsv1.ReplicaSet, size int32) bool {
	before := replicas(set)
	if before == size && s.limits.recordedIn(set) {
		return false
	}
	next := set.DeepCopy()
	s.limits.setSize(next, size)
	update := action.Update[*appsv1.ReplicaSet]{Resource: setsResource, Object: next}
	if before != size {
		update.Events = action.Events{Object: s.deployment, Reason: reasonScaled,
			Message: scalingMessage(set.Name, before, size)}
	}
	s.replace(set, next, update)
	return true
}

// resized reports whether the Deployment's size has changed since its ReplicaSets were scaled.
func (s *replicaSets) resized() bool {
	for _, set := range s.all() {
		recorded, known := set.Annotations[DesiredAnnotation]
		if replicas(set) > 0 && known && recorded != strconv.Itoa(int(s.limits.size)) {
			return true
		}
	}
	return false
}

// resize scales the ReplicaSets to the Deployment's size. If several have pods, as during a rollout, each
// gets a proportional share, so that the risk of the new template stays the same.
func (s *replicaSets) resize() {
	active := s.active()
	switch {
	case len(active) == 1:
		s.setSizes(active, s.limits.size)
	case len(active) == 0 && s.latest() != nil:
		s.setSizes([]*appsv1.ReplicaSet{s.latest()}, s.limits.size)
	case len(active) == 0:
	case s.saturated():
		for _, set := range slices.Clone(s.old) {
			if replicas(set) > 0 {
				s.scale(set, 0)
			}
		}
	case s.deployment.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType:
		s.distribute(active)
	}
}

// saturated reports whether the new ReplicaSet has all desired pods, and they are available.
func (s *replicaSets) saturated() bool {
	size := s.limits.size
	return s.next != nil && replicas(s.next) == size && s.next.Status.AvailableReplicas == size &&
		s.next.Annotations[DesiredAnnotation] == strconv.Itoa(int(size))
}

// distribute adds or removes pods in proportion to the sizes of the ReplicaSets; the first gets the rounding
// difference.
func (s *replicaSets) distribute(active []*appsv1.ReplicaSet) {
	allowed := int32(0)
	if s.limits.size > 0 {
		allowed = s.limits.max
	}
	change := int64(allowed) - desiredPods(active)
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
			part := s.proportion(set, change, left)
			sizes[i] = bounded.Count(int64(sizes[i]) + part)
			left -= part
		}
	}
	sizes[0] = bounded.Count(int64(sizes[0]) + left)
	s.setSizes(active, sizes...)
}

// setSizes sets the sizes of ReplicaSets. None grows beyond the Deployment's maximum, which includes the pods
// that other ReplicaSets have not deleted yet. The missing pods follow with the rollout or, if it is paused,
// in the next step.
func (s *replicaSets) setSizes(sets []*appsv1.ReplicaSet, sizes ...int32) {
	existing, known := maxPods(s.all())
	room := max(0, int64(s.limits.max)-existing)
	for i, set := range sets {
		size, grows := sizes[i], sizes[i]-replicas(set)
		switch {
		case grows > 0 && !known:
			continue // until the status of all reflects their specs
		case grows > 0:
			size = replicas(set) + int32(min(int64(grows), room))
			room -= int64(size - replicas(set))
		}
		s.scale(set, size)
	}
}

// proportion returns the share of a ReplicaSet in a change, of which left is still to be distributed.
func (s *replicaSets) proportion(set *appsv1.ReplicaSet, change, left int64) int64 {
	if left == 0 {
		return 0
	}
	if s.limits.size == 0 {
		return max(-int64(replicas(set)), left)
	}
	previousMax, err := strconv.ParseUint(set.Annotations[MaxAnnotation], 10, 31)
	if err != nil || previousMax == 0 {
		previousMax = uint64(max(0, s.deployment.Status.Replicas))
	}
	if previousMax == 0 {
		return 0
	}
	// The ReplicaSet retains its fraction of the whole.
	whole := float64(s.limits.max)
	part := int64(math.Round(float64(replicas(set))*whole/float64(previousMax))) - int64(replicas(set))
	if change > 0 {
		return min(part, left)
	}
	return max(part, left)
}
