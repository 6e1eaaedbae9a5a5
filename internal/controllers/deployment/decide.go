package deployment

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/informer"
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
	// Named returns the ReplicaSet of the namespace with a name, or nil.
	Named func(name string) *appsv1.ReplicaSet
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
	r := newRollout(s, append(claims.Owned, claims.Adopted...))
	r.actions = claims.Actions(owner, setsResource)
	claimed := len(r.actions)
	if r.step(); r.rolledBack {
		return r.actions // the remaining steps depend on the restored template
	}
	if len(r.actions) > claimed { // a change of one ReplicaSet depends on the sizes of all, and on the template
		sure := []action.Precondition{
			action.Unchanged[*appsv1.Deployment]{Resource: resource, Objects: []*appsv1.Deployment{s.Deployment}},
			action.DependentsUnchanged[*appsv1.ReplicaSet]{Resource: setsResource, Owner: s.Deployment,
				Selector: selector, Objects: claims.Owned},
		}
		if len(r.deleted) > 0 {
			sure = append(sure, oldPodsEnded{owner, r.deleted})
		}
		r.actions = append(slices.Clone(r.actions[:claimed]),
			action.Guard{Preconditions: sure, Then: r.actions[claimed:]})
	}
	r.report()
	return r.actions
}

// rollout is a decision in progress.
type rollout struct {
	Observed
	spec *appsv1.DeploymentSpec
	// next is the ReplicaSet of the template, nil if there is none; old are the others, the oldest first.
	next *appsv1.ReplicaSet
	old  []*appsv1.ReplicaSet
	// status and revision are the values to write to the Deployment.
	status   appsv1.DeploymentStatus
	revision string
	// resizing is set if the step only changes the Deployment's size, rolledBack if it restores another
	// template.
	resizing, rolledBack bool
	// deleted are ReplicaSets that must have no running pod before the actions are carried out.
	deleted []*appsv1.ReplicaSet
	actions []action.Action
}

func newRollout(s Observed, sets []*appsv1.ReplicaSet) *rollout {
	r := &rollout{
		Observed: s, spec: &s.Deployment.Spec, status: *s.Deployment.Status.DeepCopy(),
		revision: s.Deployment.Annotations[RevisionAnnotation],
	}
	r.next, r.old = splitByTemplate(sets, &s.Deployment.Spec.Template)
	return r
}

// step decides on the first change that is necessary.
func (r *rollout) step() {
	if r.Deployment.DeletionTimestamp != nil {
		return
	}
	r.recordPause()
	revision, back := r.rollbackRequested()
	switch {
	case r.spec.Paused:
		r.ensureRevision(false)
		r.resize()
		if !back { // the rollback may need an old ReplicaSet
			r.pruneHistory()
		}
	case back: // the current template needs a revision first, or revision 0 would mean another one
		if r.rolledBack = r.ensureRevision(true); r.rolledBack {
			r.rollBack(revision)
		}
	case r.resized() && !r.hasMixedTemplates():
		r.resizing = true
		r.ensureRevision(false)
		r.resize()
	case r.spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		r.recreate()
	default:
		r.roll()
	}
}

// report updates the status if it has changed, and requeues if it will change without an event.
func (r *rollout) report() {
	again := r.count()
	r.actions = append(r.actions, r.updateStatus())
	if again > 0 {
		r.actions = append(r.actions, action.Requeue{After: again})
	}
}

// updateStatus returns the update of the status and the revision, or no action if both are up to date.
func (r *rollout) updateStatus() action.Action {
	d := r.Deployment.DeepCopy()
	d.Status = r.status
	if r.revision != "" && r.Deployment.DeletionTimestamp == nil {
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, RevisionAnnotation, r.revision)
	}
	if equality.Semantic.DeepEqual(d, r.Deployment) {
		return action.Parallel{}
	}
	of := informer.KeyOf(d)
	if wait := r.Written.Delay(of, writtenStatus(r.Deployment), writtenStatus(d)); wait > 0 {
		return action.Requeue{After: wait}
	}
	return action.OnSuccess{
		Action: action.Update[*appsv1.Deployment]{Resource: resource, Object: d, Subresource: "status"},
		Done:   func() { r.Written.Written(of, writtenStatus(d)) },
	}
}

// all returns all ReplicaSets.
func (r *rollout) all() []*appsv1.ReplicaSet {
	if r.next == nil {
		return r.old
	}
	return append(append([]*appsv1.ReplicaSet{}, r.old...), r.next)
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
func maxPods(sets []*appsv1.ReplicaSet) (n int32, known bool) {
	for _, set := range sets {
		if !isObserved(set) {
			return 0, false
		}
		n += max(replicas(set), set.Status.Replicas)
	}
	return n, true
}

// desiredPods returns the sum of the desired sizes.
func desiredPods(sets []*appsv1.ReplicaSet) (n int32) {
	for _, set := range sets {
		n += replicas(set)
	}
	return n
}

func replicas(set *appsv1.ReplicaSet) int32 {
	if set.Spec.Replicas == nil {
		return 1
	}
	return *set.Spec.Replicas
}
