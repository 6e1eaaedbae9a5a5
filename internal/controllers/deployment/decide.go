package deployment

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
)

// Observed is the observed state that a decision is based on.
type Observed struct {
	Deployment *appsv1.Deployment
	// Sets are the ReplicaSets of the namespace that the Deployment controls or that have no controller.
	Sets []*appsv1.ReplicaSet
	// Pods returns the pods that a ReplicaSet controls.
	Pods func(set types.UID) []*corev1.Pod
	// SetByName returns a ReplicaSet of the namespace, or nil.
	SetByName func(name string) *appsv1.ReplicaSet
	// Written holds the statuses that this controller has written.
	Written *action.StatusBackoff[WrittenStatus]
	Now     time.Time
}

// WrittenStatus is what the controller writes to a Deployment: its status and the revision of its template.
type WrittenStatus struct {
	Status   appsv1.DeploymentStatus
	Revision string
}

func writtenStatus(d *appsv1.Deployment) WrittenStatus {
	return WrittenStatus{Status: d.Status, Revision: d.Annotations[RevisionAnnotation]}
}

// Decide returns the next step of the rollout. When the ReplicaSets have completed it, their changes trigger
// the following step. The update of the status is the last action.
func Decide(s Observed) []action.Action {
	selector, err := metav1.LabelSelectorAsSelector(s.Deployment.Spec.Selector)
	if err != nil || selector.Empty() {
		return []action.Action{action.Event{
			Object: s.Deployment, Warning: true, Reason: "SelectingAll",
			Message: "This deployment is selecting all pods. A non-empty selector is required.",
		}}
	}
	owner := ownership.Owner{Object: s.Deployment, Kind: kind, Resource: resource, Selector: selector}
	claims := ownership.Claim(owner, s.Sets)
	actions := claims.Actions(owner, setsResource)
	r := newRollout(s, append(claims.Owned, claims.Adopted...))
	if r.step(); r.rollback != nil {
		return append(actions, r.rollback...) // the remaining steps depend on the restored template
	}
	if len(r.sets.actions) > 0 { // a change of one ReplicaSet depends on the sizes of all, and on the template
		preconditions := []action.Precondition{
			action.Unchanged[*appsv1.Deployment]{Resource: resource, Objects: []*appsv1.Deployment{s.Deployment}},
			action.DependentsUnchanged[*appsv1.ReplicaSet]{Resource: setsResource, Owner: s.Deployment,
				Selector: selector, Objects: claims.Owned},
		}
		if len(r.drained) > 0 {
			preconditions = append(preconditions, oldPodsEnded{owner, r.drained})
		}
		actions = append(actions, action.Guard{Preconditions: preconditions, Then: r.sets.actions})
	}
	return append(actions, r.report()...)
}

// rollout is a decision in progress.
type rollout struct {
	Observed
	spec *appsv1.DeploymentSpec
	// sets holds the changes of the ReplicaSets, and status those of the Deployment's status and revision.
	sets   *replicaSets
	status *desiredStatus
	// resizing is set if the step only changes the Deployment's size.
	resizing bool
	// rollback are the actions of a step that restores another template, or rejects the request to do so.
	rollback []action.Action
	// drained are ReplicaSets that must have no running pod before the actions are carried out.
	drained []*appsv1.ReplicaSet
}

func newRollout(s Observed, sets []*appsv1.ReplicaSet) *rollout {
	return &rollout{
		Observed: s, spec: &s.Deployment.Spec, sets: newReplicaSets(s.Deployment, sets), status: newDesiredStatus(&s),
	}
}

// step decides on the first change that is necessary.
func (r *rollout) step() {
	if r.Deployment.DeletionTimestamp != nil {
		return
	}
	r.status.recordPause()
	revision, rollbackWanted := rollbackRequested(r.Deployment)
	switch {
	case r.spec.Paused:
		r.ensureRevision(false)
		r.sets.resize()
		if !rollbackWanted { // the rollback may need an old ReplicaSet
			r.sets.pruneHistory()
		}
	case rollbackWanted: // the current template needs a revision first, or revision 0 would mean another one
		if r.ensureRevision(true) {
			r.rollback = rollBack(r.Deployment, r.sets.all(), revision)
		}
	case r.sets.resized() && !r.hasMixedTemplates():
		r.resizing = true
		r.ensureRevision(false)
		r.sets.resize()
	case r.spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		r.recreate()
	default:
		r.roll()
	}
}

// hasMixedTemplates reports whether a Deployment with the Recreate strategy has pods of several ReplicaSets, as after a
// change of strategy. The size is not distributed then, because the old pods are removed.
func (r *rollout) hasMixedTemplates() bool {
	return r.spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType && len(r.sets.active()) > 1
}

// report returns the update of the status if it has changed, and requeues if it will change without an event.
func (r *rollout) report() []action.Action {
	recheckAfter := r.status.compute(r.sets, r.resizing)
	actions := []action.Action{r.status.update()}
	if recheckAfter > 0 {
		actions = append(actions, action.Requeue{After: recheckAfter})
	}
	return actions
}
