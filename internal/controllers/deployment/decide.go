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

// Seen is the observed state that a decision is based on.
type Seen struct {
	Deployment *appsv1.Deployment
	// Sets are the ReplicaSets of the namespace that the Deployment controls or that have no controller.
	Sets []*appsv1.ReplicaSet
	// Pods returns the pods that a ReplicaSet controls.
	Pods func(set types.UID) []*corev1.Pod
	// Named returns the ReplicaSet of the namespace with a name, or nil.
	Named func(name string) *appsv1.ReplicaSet
	// Told holds the statuses that this controller has written.
	Told *action.StatusBackoff[Saying]
	Now  time.Time
}

// Saying is what the controller writes to a Deployment: its status and the revision of its template.
type Saying struct {
	Status   appsv1.DeploymentStatus
	Revision string
}

func saying(d *appsv1.Deployment) Saying {
	return Saying{Status: d.Status, Revision: d.Annotations[RevisionAnnotation]}
}

// Decide returns the next step of the rollout. When the ReplicaSets have completed it, their changes trigger
// the following step. The update of the status is the last action.
func Decide(s Seen) []action.Action {
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
	if r.step(); r.wentBack {
		return r.actions // the remaining steps depend on the restored template
	}
	if len(r.actions) > claimed { // a change of one ReplicaSet depends on the sizes of all, and on the template
		sure := []action.Precondition{
			action.Unchanged[*appsv1.Deployment]{Resource: resource, Objects: []*appsv1.Deployment{s.Deployment}},
			action.DependentsUnchanged[*appsv1.ReplicaSet]{Resource: setsResource, Owner: s.Deployment,
				Selector: selector, Objects: claims.Owned},
		}
		if len(r.over) > 0 {
			sure = append(sure, ended{owner, r.over})
		}
		r.actions = append(slices.Clone(r.actions[:claimed]),
			action.Guard{Preconditions: sure, Then: r.actions[claimed:]})
	}
	r.report()
	return r.actions
}

// rollout is a decision in progress.
type rollout struct {
	Seen
	spec *appsv1.DeploymentSpec
	// next is the ReplicaSet of the template, nil if there is none; old are the others, the oldest first.
	next *appsv1.ReplicaSet
	old  []*appsv1.ReplicaSet
	// status and revision are the values to write to the Deployment.
	status   appsv1.DeploymentStatus
	revision string
	// resizing is set if the step only changes the Deployment's size, wentBack if it restores another
	// template.
	resizing, wentBack bool
	// over are ReplicaSets that must have no running pod before the actions are carried out.
	over    []*appsv1.ReplicaSet
	actions []action.Action
}

func newRollout(s Seen, sets []*appsv1.ReplicaSet) *rollout {
	r := &rollout{
		Seen: s, spec: &s.Deployment.Spec, status: *s.Deployment.Status.DeepCopy(),
		revision: s.Deployment.Annotations[RevisionAnnotation],
	}
	r.next, r.old = divide(sets, &s.Deployment.Spec.Template)
	return r
}

// step decides on the first change that is necessary.
func (r *rollout) step() {
	if r.Deployment.DeletionTimestamp != nil {
		return
	}
	r.notePause()
	revision, back := r.wantsBack()
	switch {
	case r.spec.Paused:
		r.keepRevision(false)
		r.resize()
		if !back { // the rollback may need an old ReplicaSet
			r.forgetOld()
		}
	case back: // the current template needs a revision first, or revision 0 would mean another one
		if r.wentBack = r.keepRevision(true); r.wentBack {
			r.goBack(revision)
		}
	case r.resized() && !r.mixed():
		r.resizing = true
		r.keepRevision(false)
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
	r.actions = append(r.actions, r.written())
	if again > 0 {
		r.actions = append(r.actions, action.Requeue{After: again})
	}
}

// written returns the update of the status and the revision, or no action if both are up to date.
func (r *rollout) written() action.Action {
	d := r.Deployment.DeepCopy()
	d.Status = r.status
	if r.revision != "" && r.Deployment.DeletionTimestamp == nil {
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, RevisionAnnotation, r.revision)
	}
	if equality.Semantic.DeepEqual(d, r.Deployment) {
		return action.Parallel{}
	}
	of := informer.KeyOf(d)
	if wait := r.Told.Delay(of, saying(r.Deployment), saying(d)); wait > 0 {
		return action.Requeue{After: wait}
	}
	return action.OnSuccess{
		Action: action.Update[*appsv1.Deployment]{Resource: resource, Object: d, Subresource: "status"},
		Done:   func() { r.Told.Written(of, saying(d)) },
	}
}

// all returns all ReplicaSets.
func (r *rollout) all() []*appsv1.ReplicaSet {
	if r.next == nil {
		return r.old
	}
	return append(append([]*appsv1.ReplicaSet{}, r.old...), r.next)
}

// hasTold reports whether a ReplicaSet's status reflects its current spec; otherwise the number of its pods
// is unknown.
func hasTold(set *appsv1.ReplicaSet) bool {
	return set.Generation <= 1 || set.Generation <= set.Status.ObservedGeneration
}

// available returns how many pods of a ReplicaSet are certainly available: 0 if its status does not reflect
// its spec.
func available(set *appsv1.ReplicaSet) int32 {
	if !hasTold(set) {
		return 0
	}
	return min(set.Status.AvailableReplicas, replicas(set))
}

// held returns the maximum number of pods that ReplicaSets have together: the desired ones and those not
// deleted yet. known is false if the status of one does not reflect its spec.
func held(sets []*appsv1.ReplicaSet) (n int32, known bool) {
	for _, set := range sets {
		if !hasTold(set) {
			return 0, false
		}
		n += max(replicas(set), set.Status.Replicas)
	}
	return n, true
}

// wanted returns the sum of the desired sizes.
func wanted(sets []*appsv1.ReplicaSet) (n int32) {
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
