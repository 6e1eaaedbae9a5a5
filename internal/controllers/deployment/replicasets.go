package deployment

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// replicaSets are a Deployment's ReplicaSets with the changes decided so far, and the actions that write these
// changes.
type replicaSets struct {
	deployment *appsv1.Deployment
	limits     limits
	// next is the ReplicaSet of the template, nil if there is none; old are the others, the oldest first.
	next    *appsv1.ReplicaSet
	old     []*appsv1.ReplicaSet
	actions []action.Action
}

func newReplicaSets(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) *replicaSets {
	s := &replicaSets{deployment: d, limits: newLimits(&d.Spec)}
	s.next, s.old = splitByTemplate(sets, &d.Spec.Template)
	return s
}

// all returns all ReplicaSets.
func (s *replicaSets) all() []*appsv1.ReplicaSet {
	if s.next == nil {
		return s.old
	}
	return append(append([]*appsv1.ReplicaSet{}, s.old...), s.next)
}

// active returns the ReplicaSets that should have pods.
func (s *replicaSets) active() (active []*appsv1.ReplicaSet) {
	for _, set := range s.all() {
		if replicas(set) > 0 {
			active = append(active, set)
		}
	}
	return active
}

// latest returns the ReplicaSet of the template, or else the newest one.
func (s *replicaSets) latest() *appsv1.ReplicaSet {
	if s.next != nil || len(s.old) == 0 {
		return s.next
	}
	return slices.MaxFunc(s.old, byAge)
}

// highestOldRevision returns the highest revision of an old ReplicaSet, or 0 if there is none.
func (s *replicaSets) highestOldRevision() (highest int64) {
	for _, set := range s.old {
		highest = max(highest, revisionOf(set))
	}
	return highest
}

// complete reports whether the rollout is complete: all pods are of the template, and available.
func (s *replicaSets) complete() bool {
	return isComplete(withCounts(appsv1.DeploymentStatus{}, s), s.limits.size)
}

// replace substitutes a ReplicaSet in the rest of the decision and records the update. Several changes of one
// object become one update.
func (s *replicaSets) replace(set, next *appsv1.ReplicaSet, update action.Update[*appsv1.ReplicaSet]) {
	if s.next == set {
		s.next = next
	}
	for i := range s.old {
		if s.old[i] == set {
			s.old[i] = next
		}
	}
	for i, a := range s.actions {
		if earlier, ok := a.(action.Update[*appsv1.ReplicaSet]); ok && earlier.Object == set {
			s.actions[i] = update
			return
		}
	}
	s.actions = append(s.actions, update)
}

// pruneHistory deletes the old ReplicaSets beyond the revision history limit, those of the lowest revision
// first. It does not delete a ReplicaSet that still has pods or whose status does not reflect its spec.
func (s *replicaSets) pruneHistory() {
	if s.deployment.Spec.RevisionHistoryLimit == nil {
		return
	}
	var idle []*appsv1.ReplicaSet
	for _, set := range s.old {
		if set.DeletionTimestamp == nil {
			idle = append(idle, set)
		}
	}
	excess := len(idle) - int(*s.deployment.Spec.RevisionHistoryLimit)
	if excess <= 0 {
		return
	}
	slices.SortStableFunc(idle, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(revisionOf(a), revisionOf(b)) })
	for _, set := range idle[:excess] {
		if replicas(set) == 0 && set.Status.Replicas == 0 && set.Generation <= set.Status.ObservedGeneration {
			s.actions = append(s.actions,
				action.Delete[*appsv1.ReplicaSet]{Resource: setsResource, Object: set, IfUnchanged: true})
		}
	}
}

// isObserved reports whether a ReplicaSet's status reflects its current spec; otherwise the number of its pods
// is unknown.
func isObserved(set *appsv1.ReplicaSet) bool {
	return set.Generation <= 1 || set.Generation <= set.Status.ObservedGeneration
}

// available returns how many pods of a ReplicaSet are certainly available: 0 if its status does not reflect
// its spec.
func available(set *appsv1.ReplicaSet) int32 {
	if !isObserved(set) {
		return 0
	}
	return min(set.Status.AvailableReplicas, replicas(set))
}

// maxPods returns the maximum number of pods that ReplicaSets have together: the desired ones and those not
// deleted yet. known is false if the status of one does not reflect its spec.
func maxPods(sets []*appsv1.ReplicaSet) (n int64, known bool) {
	for _, set := range sets {
		if !isObserved(set) {
			return 0, false
		}
		n += int64(max(replicas(set), set.Status.Replicas))
	}
	return n, true
}

// desiredPods returns the sum of the desired sizes.
func desiredPods(sets []*appsv1.ReplicaSet) (n int64) {
	for _, set := range sets {
		n += int64(replicas(set))
	}
	return n
}

func replicas(set *appsv1.ReplicaSet) int32 {
	if set.Spec.Replicas == nil {
		return 1
	}
	return *set.Spec.Replicas
}
