package deployment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// The reasons of events about a requested rollback.
const (
	rolledBack        = "DeploymentRollback"
	noSuchRevision    = "DeploymentRollbackRevisionNotFound"
	templateUnchanged = "DeploymentRollbackTemplateUnchanged"
)

// rollbackRequested returns the revision that the Deployment is to be rolled back to, 0 for the previous one. Clients
// of the deprecated API request it, and an annotation records it until it is done. Current clients, such as
// kubectl rollout undo, patch the template themselves.
func rollbackRequested(d *appsv1.Deployment) (revision int64, ok bool) {
	revision, err := strconv.ParseInt(d.Annotations[appsv1.DeprecatedRollbackTo], 10, 64)
	return revision, err == nil
}

// rollBack restores the template and the annotations of the ReplicaSet among all that has the given revision. It always
// removes the request.
func rollBack(d *appsv1.Deployment, all []*appsv1.ReplicaSet, revision int64) []action.Action {
	if revision == 0 {
		revision = lastRevision(all)
	}
	at := slices.IndexFunc(all, func(set *appsv1.ReplicaSet) bool {
		return revision != 0 && revisionOf(set) == revision
	})
	switch {
	case revision == 0:
		return rejectRollback(d, noSuchRevision, "Unable to find last revision.")
	case at < 0:
		return rejectRollback(d, noSuchRevision, "Unable to find the revision to rollback to.")
	case sameTemplate(&d.Spec.Template, &all[at].Spec.Template):
		return rejectRollback(d, templateUnchanged,
			fmt.Sprintf("The rollback revision contains the same template as current deployment %q", d.Name))
	default:
		next := d.DeepCopy()
		next.Spec.Template = *all[at].Spec.Template.DeepCopy()
		delete(next.Spec.Template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		maps.DeleteFunc(next.Annotations, func(key, _ string) bool { return !slices.Contains(ownAnnotations, key) })
		for key, value := range all[at].Annotations {
			if !slices.Contains(ownAnnotations, key) {
				next.Annotations[key] = value
			}
		}
		return finishRollback(next, action.Events{
			Object: next, Reason: rolledBack,
			Message: fmt.Sprintf("Rolled back deployment %q to revision %d", d.Name, revision),
		})
	}
}

// lastRevision returns the second highest revision, or 0 if there is none.
func lastRevision(sets []*appsv1.ReplicaSet) int64 {
	var revisions []int64
	for _, set := range sets {
		if n := revisionOf(set); n > 0 {
			revisions = append(revisions, n)
		}
	}
	if len(revisions) < 2 {
		return 0
	}
	slices.Sort(revisions)
	return revisions[len(revisions)-2]
}

func rejectRollback(d *appsv1.Deployment, reason, message string) []action.Action {
	warning := action.Event{Object: d, Warning: true, Reason: reason, Message: message}
	return append([]action.Action{warning}, finishRollback(d.DeepCopy(), action.Events{})...)
}

// finishRollback updates the Deployment, which the caller must have copied, without the rollback request.
func finishRollback(d *appsv1.Deployment, events action.Events) []action.Action {
	delete(d.Annotations, appsv1.DeprecatedRollbackTo)
	return []action.Action{action.Update[*appsv1.Deployment]{Resource: resource, Object: d, Events: events}}
}
