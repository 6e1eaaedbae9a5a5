package deployment

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
)

// roll moves pods from the old ReplicaSets to the new one: it adds as many new pods as the surge allows, and
// removes old ones as new ones become available.
func (r *rollout) roll() {
	if !r.ensureRevision(true) || r.scale(r.next, r.sizeOfNext(r.next)) || r.shrinkOld() {
		return
	}
	if r.complete() {
		r.pruneHistory()
	}
}

// sizeOfNext returns how large the new ReplicaSet may be now. Kubernetes counts the desired pods of the old
// ReplicaSets; this function counts those that exist, because otherwise a new pod may start before the old
// one that it replaces is gone, and exceed the maximum.
func (r *rollout) sizeOfNext(set *appsv1.ReplicaSet) int32 {
	now, size := replicas(set), r.size()
	if r.spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType || now >= size {
		return size
	}
	there, known := maxPods(r.old)
	if !known {
		return now
	}
	there += max(now, set.Status.Replicas)
	return now + max(0, min(r.maxSize()-there, size-now))
}

// shrinkOld removes as many pods from the old ReplicaSets as leave enough available ones, unavailable pods
// first. It returns false if none can be removed now.
func (r *rollout) shrinkOld() bool {
	if desiredPods(r.old) == 0 {
		return false
	}
	missing := replicas(r.next) - available(r.next)
	most := desiredPods(r.all()) - r.minAvailable() - missing
	if most <= 0 {
		return false
	}
	some := r.dropUnavailable(most)
	spare := r.spare()
	for _, set := range slices.Clone(r.old) {
		if n := min(spare, replicas(set)); n > 0 {
			some = r.shrink(set, n) || some
			spare -= n
		}
	}
	return some
}

// dropUnavailable removes up to most pods from old ReplicaSets that have unavailable pods.
func (r *rollout) dropUnavailable(most int32) (some bool) {
	for _, set := range slices.Clone(r.old) {
		if sick := replicas(set) - set.Status.AvailableReplicas; isObserved(set) && sick > 0 && most > 0 {
			n := min(most, sick)
			some = r.shrink(set, n) || some
			most -= n
		}
	}
	return some
}

// spare returns how many available pods of old ReplicaSets may be removed.
func (r *rollout) spare() int32 {
	left := int32(0)
	for _, set := range r.all() {
		left += available(set)
	}
	return left - r.minAvailable()
}

// shrink reduces a ReplicaSet by up to n pods.
func (r *rollout) shrink(set *appsv1.ReplicaSet, n int32) bool {
	n = min(n, replicas(set))
	return n > 0 && r.scale(set, replicas(set)-n)
}
