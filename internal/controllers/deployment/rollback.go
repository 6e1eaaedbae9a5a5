package deployment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/bowline-dev/bowline/internal/controllers/action"
)

// What is told of a rollback that was asked for.
const (
	rolledBack        = "DeploymentRollback"
	noSuchRevision    = "DeploymentRollbackRevisionNotFound"
	templateUnchanged = "DeploymentRollbackTemplateUnchanged"
)

// wantsBack says that the deployment is to go back to a revision, 0 for the last one: an old client has asked for it, and the
// deployment notes it until it is done. Those of today, kubectl rollout undo among them, patch the template themselves.
func (r *rollout) wantsBack() (revision int64, ok bool) {
	revision, err := strconv.ParseInt(r.Deployment.Annotations[appsv1.DeprecatedRollbackTo], 10, 64)
	return revision, err == nil
}

// goBack gives the deployment the template, and the annotations, of the replicaset that has a revision. Whatever comes of it, it is
// asked for no more.
func (r *rollout) goBack(revision int64) {
	if revision == 0 {
		revision = r.lastRevision()
	}
	all := r.all()
	at := slices.IndexFunc(all, func(set *appsv1.ReplicaSet) bool { return revision != 0 && revisionOf(set) == revision })
	switch {
	case revision == 0:
		r.refuseToGoBack(noSuchRevision, "Unable to find last revision.")
	case at < 0:
		r.refuseToGoBack(noSuchRevision, "Unable to find the revision to rollback to.")
	case sameTemplate(&r.spec.Template, &all[at].Spec.Template):
		r.refuseToGoBack(templateUnchanged, fmt.Sprintf("The rollback revision contains the same template as current deployment %q", r.Deployment.Name))
	default:
		d := r.Deployment.DeepCopy()
		d.Spec.Template = *all[at].Spec.Template.DeepCopy()
		delete(d.Spec.Template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		maps.DeleteFunc(d.Annotations, func(key, _ string) bool { return !slices.Contains(ours, key) })
		for key, value := range all[at].Annotations {
			if !slices.Contains(ours, key) {
				d.Annotations[key] = value
			}
		}
		r.goneBack(d, action.Tell{
			About: d, Reason: rolledBack, Message: fmt.Sprintf("Rolled back deployment %q to revision %d", d.Name, revision),
		})
	}
}

// lastRevision is the one before that of the newest replicaset, or 0.
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

func (r *rollout) refuseToGoBack(reason, message string) {
	r.actions = append(r.actions, action.Event{About: r.Deployment, Warning: true, Reason: reason, Message: message})
	r.goneBack(r.Deployment.DeepCopy(), action.Tell{})
}

// goneBack writes the deployment, which is the caller's own, with nothing to go back to.
func (r *rollout) goneBack(d *appsv1.Deployment, tell action.Tell) {
	delete(d.Annotations, appsv1.DeprecatedRollbackTo)
	r.actions = append(r.actions, action.Update[*appsv1.Deployment]{In: resource, Object: d, Tell: tell})
}
