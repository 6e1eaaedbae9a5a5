package deployment

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// The annotations of Deployments and ReplicaSets that kubectl and this controller use.
const (
	// RevisionAnnotation is the number of a template, on the Deployment and on its ReplicaSet.
	RevisionAnnotation = "deployment.kubernetes.io/revision"
	// HistoryAnnotation lists the earlier numbers of a ReplicaSet's template.
	HistoryAnnotation = "deployment.kubernetes.io/revision-history"
	// DesiredAnnotation and MaxAnnotation are the Deployment's size and its maximum including surge when the
	// ReplicaSet was last scaled. A later change of the size is distributed in proportion to them.
	DesiredAnnotation = "deployment.kubernetes.io/desired-replicas"
	MaxAnnotation     = "deployment.kubernetes.io/max-replicas"
)

// ownAnnotations are the annotations of a Deployment that are not copied to its ReplicaSets.
var ownAnnotations = []string{
	RevisionAnnotation, HistoryAnnotation, DesiredAnnotation, MaxAnnotation,
	corev1.LastAppliedConfigAnnotation, appsv1.DeprecatedRollbackTo,
}

// longestName is the maximum length of a ReplicaSet's name in bytes.
const longestName = 253

// longestHistory is the maximum length of HistoryAnnotation in bytes.
const longestHistory = 2000

// splitByTemplate returns the ReplicaSet of a template, the oldest if there are several, and the others sorted by age.
func splitByTemplate(sets []*appsv1.ReplicaSet,
	template *corev1.PodTemplateSpec) (next *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) {
	sets = slices.Clone(sets)
	slices.SortFunc(sets, byAge)
	for _, set := range sets {
		if next == nil && sameTemplate(&set.Spec.Template, template) {
			next = set
			continue
		}
		old = append(old, set)
	}
	return next, old
}

func byAge(a, b *appsv1.ReplicaSet) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// sameTemplate reports whether two templates are equal except for the hash label that the controller adds.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	return equality.Semantic.DeepEqual(withoutHash(*a), withoutHash(*b))
}

// withoutHash returns a shallow copy of a template without the hash label.
func withoutHash(t corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	if _, has := t.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; has {
		t.Labels = maps.Clone(t.Labels)
		delete(t.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	}
	return t
}

func revisionOf(set *appsv1.ReplicaSet) int64 {
	n, err := strconv.ParseInt(set.Annotations[RevisionAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// ensureRevision gives the ReplicaSet of the template the highest revision; a restored template gets a new
// number. If the ReplicaSet does not exist and create is set, ensureRevision creates it. It returns false if it
// has decided on a change, whose result has to be observed first.
func (r *rollout) ensureRevision(create bool) bool {
	highest := min(r.sets.highestOldRevision(), math.MaxInt64-1) // a client may have written the largest number
	if r.sets.next == nil {
		if create {
			r.create(highest + 1)
		}
		return !create
	}
	number := strconv.FormatInt(highest+1, 10)
	if revisionOf(r.sets.next) > highest {
		number = r.sets.next.Annotations[RevisionAnnotation]
	}
	r.status.revision = number
	if r.status.condition(appsv1.DeploymentProgressing) == nil && r.status.hasDeadline() {
		r.status.setCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "FoundNewReplicaSet",
			fmt.Sprintf("Found new replica set %q", r.sets.next.Name))
	}
	set := r.sets.next.DeepCopy()
	copyAnnotations(set, r.Deployment)
	setRevision(set, number)
	set.Spec.MinReadySeconds = r.spec.MinReadySeconds
	if equality.Semantic.DeepEqual(set, r.sets.next) {
		return true
	}
	r.sets.replace(r.sets.next, set, action.Update[*appsv1.ReplicaSet]{Resource: setsResource, Object: set})
	return false
}

// copyAnnotations copies the Deployment's annotations to a ReplicaSet.
func copyAnnotations(set *appsv1.ReplicaSet, d *appsv1.Deployment) {
	for key, value := range d.Annotations {
		if !slices.Contains(ownAnnotations, key) {
			metav1.SetMetaDataAnnotation(&set.ObjectMeta, key, value)
		}
	}
}

// setRevision sets a ReplicaSet's revision and appends the previous one to its history.
func setRevision(set *appsv1.ReplicaSet, number string) {
	previous := set.Annotations[RevisionAnnotation]
	if previous == number {
		return
	}
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, RevisionAnnotation, number)
	if previous == "" {
		return
	}
	history := previous
	if earlier := set.Annotations[HistoryAnnotation]; earlier != "" {
		history = earlier + "," + previous
	}
	for len(history) > longestHistory {
		_, history, _ = strings.Cut(history, ",")
	}
	set.Annotations[HistoryAnnotation] = history
}

// create creates the ReplicaSet of the template. Its name contains a hash of the template, so concurrent
// controllers create the same one.
func (r *rollout) create(revision int64) {
	d := r.Deployment
	hash := pods.Hash(&r.spec.Template, d.Status.CollisionCount)
	name := d.Name[:min(len(d.Name), longestName-1-len(hash))] + "-" + hash
	if existing := r.SetByName(name); existing != nil {
		if !metav1.IsControlledBy(existing, d) || !sameTemplate(&existing.Spec.Template, &r.spec.Template) {
			// the ReplicaSet of the name has another template with the same hash, or another owner
			r.status.countCollision()
		}
		return // otherwise it was created after the cache was read, and will be observed
	}
	r.status.revision = strconv.FormatInt(revision, 10)
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: d.Namespace,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, kind)},
		},
		Spec: appsv1.ReplicaSetSpec{
			MinReadySeconds: r.spec.MinReadySeconds,
			Selector:        d.Spec.Selector.DeepCopy(),
			Template:        *r.spec.Template.DeepCopy(),
		},
	}
	metav1.AddLabelToSelector(set.Spec.Selector, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	metav1.SetMetaDataLabel(&set.Spec.Template.ObjectMeta, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	set.Labels = set.Spec.Template.DeepCopy().Labels
	copyAnnotations(set, d)
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, RevisionAnnotation, r.status.revision)
	set.Spec.Replicas = new(int32)
	size := r.sets.sizeOfNext(set)
	r.sets.limits.setSize(set, size)
	failed := fmt.Sprintf("Failed to create new replica set %q: ", name)
	create := action.Create[*appsv1.ReplicaSet]{Resource: setsResource, Object: set, Events: action.Events{
		Object: d, FailureReason: reasonNotCreated, FailurePrefix: failed,
	}}
	if size > 0 {
		create.Events.Reason, create.Events.Message = reasonScaled, scalingMessage(name, 0, size)
	}
	r.sets.actions = append(r.sets.actions, action.OnFailure{Action: create, Else: func(err error) action.Action {
		return r.status.notCreated(failed + err.Error())
	}})
	r.sets.next = set
	if r.status.hasDeadline() {
		r.status.setCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetCreated",
			fmt.Sprintf("Created new replica set %q", name))
	}
}
