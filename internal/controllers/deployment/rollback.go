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
func (r *rollout) rollbackRequested() (revision int64, ok bool) {
	revision, err := strconv.ParseInt(r.Deployment.Annotations[appsv1.DeprecatedRollbackTo], 10, 64)
	return revision, err == nil
}

// rollBack restores the template and the annotations of the ReplicaSet that has a revision. It always removes
// the request.
func (r *rollout) rollBack(revision int64) {
	if revision == 0 {
		revision = r.lastRevision()
	}
	all := r.all()
	at := slices.IndexFunc(all, func(set *appsv1.ReplicaSet) bool {
		return revision != 0 && revisionOf(set) == revision
	})
	switch {
	case revision == 0:
		r.rejectRollback(noSuchRevision, "Unable to find last revision.")
	case at < 0:
		r.rejectRollback(noSuchRevision, "Unable to find the revision to rollback to.")
	case sameTemplate(&r.spec.Template, &all[at].Spec.Template):
		r.rejectRollback(templateUnchanged,
			fmt.Sprintf("The rollback revision contains the same template as current deployment %q", r.Deployment.Name))
	default:
		d := r.Deployment.DeepCopy()
		d.Spec.Template = *all[at].Spec.Template.DeepCopy()
		delete(d.Spec.Template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		maps.DeleteFunc(d.Annotations, func(key, _ string) bool { return !slices.Contains(ownAnnotations, key) })
		for key, value := range all[at].Annotations {
			if !slices.Contains(ownAnnotations, key) {
				d.Annotations[key] = value
			}
		}
		r.finishRollback(d, action.Events{
			Object: d, Reason: rolledBack,
			Message: fmt.Sprintf("Rolled back deployment %q to revision %d", d.Name, revision),
		})
	}
}

// lastRevision returns the second highest revision, or 0 if there is none.
func (r *rollout) lastRevision() int64 {
	var revisions []int64
	for _, set := range r.all() {
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

func (r *rollout) rejectRollback(reason, message string) {
	r.actions = append(r.actions, action.Event{Object: r.Deployment, Warning: true, Reason: reason, Message: message})
	r.finishRollback(r.Deployment.DeepCopy(), action.Events{})
}

// finishRollback updates the Deployment, which the caller must have copied, without the rollback request.
func (r *rollout) finishRollback(d *appsv1.Deployment, tell action.Events) {
	delete(d.Annotations, appsv1.DeprecatedRollbackTo)
	r.actions = append(r.actions, action.Update[*appsv1.Deployment]{Resource: resource, Object: d, Events: tell})
}
