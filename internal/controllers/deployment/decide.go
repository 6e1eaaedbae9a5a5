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
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/adopt"
)

// Seen is what a decision is made of.
type Seen struct {
	Deployment *appsv1.Deployment
	// Sets are the replicasets that the deployment controls, and those of its namespace that nobody does.
	Sets []*appsv1.ReplicaSet
	// Pods are those that a replicaset controls.
	Pods func(set types.UID) []*corev1.Pod
	// Named is the replicaset of the namespace with a name, or nil.
	Named func(name string) *appsv1.ReplicaSet
	// Told is what was said of the deployment before.
	Told *action.Told[Saying]
	Now  time.Time
}

// Saying is what is said of a deployment: its status, and the revision of its template.
type Saying struct {
	Status   appsv1.DeploymentStatus
	Revision string
}

func saying(d *appsv1.Deployment) Saying {
	return Saying{Status: d.Status, Revision: d.Annotations[RevisionAnnotation]}
}

// Decide says what is to be done next such that the deployment's pods become those of its template: one step, after which the
// replicasets, when they have done their part, bring up the next one. The status is the last of the actions.
func Decide(s Seen) []action.Action {
	selector, err := metav1.LabelSelectorAsSelector(s.Deployment.Spec.Selector)
	if err != nil || selector.Empty() {
		return []action.Action{action.Event{
			About: s.Deployment, Warning: true, Reason: "SelectingAll",
			Message: "This deployment is selecting all pods. A non-empty selector is required.",
		}}
	}
	owner := adopt.Owner{Object: s.Deployment, Kind: kind, In: resource, Selector: selector}
	claims := adopt.Claim(owner, s.Sets)
	r := newRollout(s, append(claims.Owned, claims.Adopted...))
	r.actions = claims.Actions(owner, setsResource)
	claimed := len(r.actions)
	if r.step(); r.wentBack {
		return r.actions // all else follows from the template that it has then
	}
	if len(r.actions) > claimed { // a change of one replicaset follows from the sizes of all, and from the template
		sure := []action.Question{
			action.Current[*appsv1.Deployment]{In: resource, Objects: []*appsv1.Deployment{s.Deployment}},
			action.Same[*appsv1.ReplicaSet]{In: setsResource, Owner: s.Deployment, Selector: selector, Objects: claims.Owned},
		}
		if len(r.over) > 0 {
			sure = append(sure, ended{owner, r.over})
		}
		r.actions = append(slices.Clone(r.actions[:claimed]), action.Sure{Asks: sure, Then: r.actions[claimed:]})
	}
	r.report()
	return r.actions
}

// rollout is a decision that is being made.
type rollout struct {
	Seen
	spec *appsv1.DeploymentSpec
	// next is the replicaset of the template, nil while there is none; old are the others, the oldest first.
	next *appsv1.ReplicaSet
	old  []*appsv1.ReplicaSet
	// status and revision are what the deployment will have.
	status   appsv1.DeploymentStatus
	revision string
	// resizing says that the step is about the deployment's size alone, wentBack that it gives it another template.
	resizing, wentBack bool
	// over are replicasets that must have no pod left before anything is done.
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

// step is what is to be done, of the first thing that is not as it should be.
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
		if !back { // else it might be what to go back to
			r.forgetOld()
		}
	case back: // the template of now has a revision first, or the last one would be another
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

// report writes what has become of the deployment, if that is not what stands there.
func (r *rollout) report() {
	again := r.count()
	r.actions = append(r.actions, r.written())
	if again > 0 {
		r.actions = append(r.actions, action.Again{After: again})
	}
}

// written is the write of the status and the revision, or nothing where they are there already.
func (r *rollout) written() action.Action {
	d := r.Deployment.DeepCopy()
	d.Status = r.status
	if r.revision != "" && r.Deployment.DeletionTimestamp == nil {
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, RevisionAnnotation, r.revision)
	}
	if equality.Semantic.DeepEqual(d, r.Deployment) {
		return action.Together{}
	}
	of := informer.KeyOf(d)
	if wait := r.Told.Wait(of, saying(r.Deployment), saying(d)); wait > 0 {
		return action.Again{After: wait}
	}
	return action.Then{
		Action: action.Update[*appsv1.Deployment]{In: resource, Object: d, Subresource: "status"},
		Done:   func() { r.Told.Said(of, saying(d)) },
	}
}

// all are the replicasets that there are.
func (r *rollout) all() []*appsv1.ReplicaSet {
	if r.next == nil {
		return r.old
	}
	return append(append([]*appsv1.ReplicaSet{}, r.old...), r.next)
}

// hasTold says that a replicaset's status is of what it should be now. Else nobody knows what it has.
func hasTold(set *appsv1.ReplicaSet) bool {
	return set.Generation <= 1 || set.Generation <= set.Status.ObservedGeneration
}

// available is how many pods of a replicaset are available for certain: none where it has not told since it was changed.
func available(set *appsv1.ReplicaSet) int32 {
	if !hasTold(set) {
		return 0
	}
	return min(set.Status.AvailableReplicas, replicas(set))
}

// held is how many pods replicasets have at most, together: what they should have, and what they have not deleted yet. It is
// false when one has not told since it was changed, so that nobody knows.
func held(sets []*appsv1.ReplicaSet) (n int32, known bool) {
	for _, set := range sets {
		if !hasTold(set) {
			return 0, false
		}
		n += max(replicas(set), set.Status.Replicas)
	}
	return n, true
}

// wanted is how many pods the replicasets should have together by their specs.
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
