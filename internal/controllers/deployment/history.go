package deployment

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/bowline-dev/bowline/internal/controllers/action"
)

// forgetOld deletes the old replicasets that are more than the deployment wants to keep: the oldest revisions first, and none
// that still has pods or has yet to see what it should be.
func (r *rollout) forgetOld() {
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
			r.actions = append(r.actions, action.Delete[*appsv1.ReplicaSet]{In: setsResource, Object: set, Unchanged: true})
		}
	}
}
