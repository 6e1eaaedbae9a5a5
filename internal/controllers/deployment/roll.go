package deployment

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/bounded"
)

// roll moves pods from the old ReplicaSets to the new one: it adds as many new pods as the surge allows, and
// removes old ones as new ones become available.
func (r *rollout) roll() {
	if !r.ensureRevision(true) || r.sets.growNext() || r.sets.shrinkOld() {
		return
	}
	if r.sets.complete() {
		r.sets.pruneHistory()
	}
}

// growNext scales the new ReplicaSet to the size that it may have now. It returns false if nothing changes.
func (s *replicaSets) growNext() bool { return s.scale(s.next, s.sizeOfNext(s.next)) }

// sizeOfNext returns how large the new ReplicaSet may be now. Kubernetes counts the desired pods of the old
// ReplicaSets; this function counts those that exist, because otherwise a new pod may start before the old
// one that it replaces is gone, and exceed the maximum.
func (s *replicaSets) sizeOfNext(set *appsv1.ReplicaSet) int32 {
	current, size := replicas(set), s.limits.size
	if s.deployment.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType || current >= size {
		return size
	}
	existing, known := maxPods(s.old)
	if !known {
		return current
	}
	existing += int64(max(current, set.Status.Replicas))
	return current + bounded.Count(min(int64(s.limits.max)-existing, int64(size-current)))
}

// shrinkOld removes pods from the old ReplicaSets as long as enough available pods remain, unavailable pods
// first. It returns false if none can be removed now.
func (s *replicaSets) shrinkOld() bool {
	if desiredPods(s.old) == 0 {
		return false
	}
	missing := replicas(s.next) - available(s.next)
	removable := bounded.Count(desiredPods(s.all()) - int64(s.limits.minAvailable) - int64(missing))
	if removable == 0 {
		return false
	}
	changed := s.removeUnavailable(removable)
	spare := s.spare()
	for _, set := range slices.Clone(s.old) {
		if n := min(spare, replicas(set)); n > 0 {
			changed = s.shrink(set, n) || changed
			spare -= n
		}
	}
	return changed
}

// removeUnavailable removes up to limit pods from old ReplicaSets that have unavailable pods.
func (s *replicaSets) removeUnavailable(limit int32) (changed bool) {
	for _, set := range slices.Clone(s.old) {
		if unavailable := replicas(set) - set.Status.AvailableReplicas; isObserved(set) && unavailable > 0 &&
			limit > 0 {
			n := min(limit, unavailable)
			changed = s.shrink(set, n) || changed
			limit -= n
		}
	}
	return changed
}

// spare returns how many available pods of old ReplicaSets may be removed.
func (s *replicaSets) spare() int32 {
	total := int64(0)
	for _, set := range s.all() {
		total += int64(available(set))
	}
	return bounded.Count(total - int64(s.limits.minAvailable))
}

// shrink reduces a ReplicaSet by up to n pods.
func (s *replicaSets) shrink(set *appsv1.ReplicaSet, n int32) bool {
	n = min(n, replicas(set))
	return n > 0 && s.scale(set, replicas(set)-n)
}
