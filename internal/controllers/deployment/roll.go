package deployment

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
)

// roll moves pods from the old replicasets to the new one, a few at a time: first as many new ones as the surge allows, then, as
// they become available, as many old ones less.
func (r *rollout) roll() {
	if !r.keepRevision(true) || r.scale(r.next, r.sizeOfNext(r.next)) || r.shrinkOld() {
		return
	}
	if r.complete() {
		r.forgetOld()
	}
}

// sizeOfNext is how large the new replicaset may be now. Where Kubernetes counts the pods that the old ones should have, this
// counts those that they have: else the new pod may be there before the old one that it is for has gone, and there is one too
// many.
func (r *rollout) sizeOfNext(set *appsv1.ReplicaSet) int32 {
	now, size := replicas(set), r.size()
	if r.spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType || now >= size {
		return size
	}
	there, known := held(r.old)
	if !known {
		return now
	}
	there += max(now, set.Status.Replicas)
	return now + max(0, min(r.most()-there, size-now))
}

// shrinkOld takes pods from the old replicasets, as many as leave enough that are available. Those that are not available anyway
// go first. It is false when there is nothing to take now.
func (r *rollout) shrinkOld() bool {
	if wanted(r.old) == 0 {
		return false
	}
	missing := replicas(r.next) - available(r.next)
	most := wanted(r.all()) - r.least() - missing
	if most <= 0 {
		return false
	}
	some := r.dropUnavailable(most)
	spare := r.spare()
	for _, set := range slices.Clone(r.old) {
		if n := min(spare, replicas(set)); n > 0 {
			some = r.take(set, n) || some
			spare -= n
		}
	}
	return some
}

// dropUnavailable takes up to most pods from old replicasets that have pods which are not available.
func (r *rollout) dropUnavailable(most int32) (some bool) {
	for _, set := range slices.Clone(r.old) {
		if sick := replicas(set) - set.Status.AvailableReplicas; hasTold(set) && sick > 0 && most > 0 {
			n := min(most, sick)
			some = r.take(set, n) || some
			most -= n
		}
	}
	return some
}

// spare is how many pods of old replicasets may go although they are available.
func (r *rollout) spare() int32 {
	left := int32(0)
	for _, set := range r.all() {
		left += available(set)
	}
	return left - r.least()
}

// take makes a replicaset smaller by up to n.
func (r *rollout) take(set *appsv1.ReplicaSet, n int32) bool {
	n = min(n, replicas(set))
	return n > 0 && r.scale(set, replicas(set)-n)
}
