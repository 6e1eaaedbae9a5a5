package deployment

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// pruneHistory deletes the old ReplicaSets beyond the revision history limit, those of the lowest revision
// first. It does not delete a ReplicaSet that still has pods or whose status does not reflect its spec.
func (r *rollout) pruneHistory() {
	if r.spec.RevisionHistoryLimit == nil {
		return
	}
	var idle []*appsv1.ReplicaSet
	for _, set := range r.old {
		if set.DeletionTimestamp == nil {
			idle = append(idle, set)
		}
	}
	excess := len(idle) - int(*r.spec.RevisionHistoryLimit)
	if excess <= 0 {
		return
	}
	slices.SortStableFunc(idle, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(revisionOf(a), revisionOf(b)) })
	for _, set := range idle[:excess] {
		if replicas(set) == 0 && set.Status.Replicas == 0 && set.Generation <= set.Status.ObservedGeneration {
			r.actions = append(r.actions,
				action.Delete[*appsv1.ReplicaSet]{Resource: setsResource, Object: set, IfUnchanged: true})
		}
	}
}
