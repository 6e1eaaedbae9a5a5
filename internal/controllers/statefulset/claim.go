package statefulset

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/action"
)

var (
	claimsResource = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	podKind        = corev1.SchemeGroupVersion.WithKind("Pod")
)

// claimTemplates are the templates of a set's claims. Of several with one name the last one counts: a pod has one volume of a
// name.
func claimTemplates(set *appsv1.StatefulSet) (distinct []*corev1.PersistentVolumeClaim) {
	all := set.Spec.VolumeClaimTemplates
	last := map[string]int{}
	for i := range all {
		last[all[i].Name] = i
	}
	for i := range all {
		if last[all[i].Name] == i {
			distinct = append(distinct, &all[i])
		}
	}
	return distinct
}

// claimName is what the claim of a template for an ordinal is called.
func claimName(set *appsv1.StatefulSet, template *corev1.PersistentVolumeClaim, ordinal int) string {
	return template.Name + "-" + podName(set, ordinal)
}

// newClaim is the claim of a template for an ordinal.
func newClaim(set *appsv1.StatefulSet, template *corev1.PersistentVolumeClaim, ordinal int) *corev1.PersistentVolumeClaim {
	claim := template.DeepCopy()
	claim.Name, claim.Namespace = claimName(set, template, ordinal), set.Namespace
	labels := map[string]string{}
	maps.Copy(labels, claim.Labels)
	maps.Copy(labels, set.Spec.Selector.MatchLabels)
	claim.Labels = labels
	return claim
}

// missing makes the claims that a pod needs and that there are not.
func (w *work) missing(pod *corev1.Pod, ordinal int) (made []action.Action) {
	for _, template := range claimTemplates(w.Set) {
		claim := newClaim(w.Set, template, ordinal)
		if w.Claim(claim.Name) != nil {
			continue
		}
		claim.OwnerReferences, _ = w.owners(claim, pod, ordinal)
		made = append(made, w.claimed(claim, pod))
	}
	return made
}

// claimed makes a claim, and tells of it. One that is there although the cache did not show it will do: claims outlive pods.
func (w *work) claimed(claim *corev1.PersistentVolumeClaim, pod *corev1.Pod) action.Action {
	about := fmt.Sprintf("Pod %s in StatefulSet %s", pod.Name, w.Set.Name)
	create := action.Create[*corev1.PersistentVolumeClaim]{In: claimsResource, Object: claim, Anybodys: true, Tell: action.Tell{
		About: w.Set, Reason: "SuccessfulCreate", Message: fmt.Sprintf("Create Claim %s %s success", claim.Name, about),
		FailureReason: "FailedCreate", FailureBegin: fmt.Sprintf("Create Claim %s for %s failed error: ", claim.Name, about),
	}}
	return action.Otherwise{Action: create, Else: func(err error) action.Action {
		return w.event(true, "FailedCreate", "Create %s failed error: failed to create PVC %s: %v", about, claim.Name, err)
	}}
}

// blocked says why a pod cannot be made for now, because of a claim: one is being deleted, or will be with the pod that had this
// name before.
func (w *work) blocked(pod *corev1.Pod, ordinal int) (because string, blocked bool) {
	for _, template := range claimTemplates(w.Set) {
		claim := w.Claim(claimName(w.Set, template, ordinal))
		if claim == nil {
			continue
		}
		if w.retention().WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType && stale(claim, pod, podKind) {
			return "", true
		}
		if claim.DeletionTimestamp != nil {
			return fmt.Sprintf("pvc %s is being deleted", claim.Name), true
		}
	}
	return "", false
}

// retain gives the claims of a pod the owners that they should have: with them they are deleted. Of a claim that somebody else
// controls it is told when that changes something, and when the pod is made.
func (w *work) retain(pod *corev1.Pod, ordinal int) (updates []action.Action) {
	for _, template := range claimTemplates(w.Set) {
		claim := w.Claim(claimName(w.Set, template, ordinal))
		if claim == nil {
			continue
		}
		owners, conflict := w.owners(claim, pod, ordinal)
		same := equality.Semantic.DeepEqual(owners, claim.OwnerReferences)
		if conflict && (!same || pod.UID == "") {
			updates = append(updates, w.event(true, "ConflictingController", "PersistentVolumeClaim %s has a conflicting OwnerReference "+
				"that acts as a managing controller, the retention policy is ignored for this claim", claim.Name))
		}
		if same {
			continue
		}
		claim = claim.DeepCopy()
		claim.OwnerReferences = owners
		updates = append(updates, action.Update[*corev1.PersistentVolumeClaim]{In: claimsResource, Object: claim})
	}
	return updates
}

func (w *work) retention() appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
	if policy := w.Set.Spec.PersistentVolumeClaimRetentionPolicy; policy != nil {
		return *policy
	}
	return appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
}

// owners are the owners that a claim should have by the set's policy: the set, if it goes with that, and the pod, if the set has
// become too small for it. Others' stay. What refers to a set or a pod that had these names before is left to the garbage
// collector.
func (w *work) owners(claim *corev1.PersistentVolumeClaim, pod *corev1.Pod, ordinal int) (owners []metav1.OwnerReference, conflict bool) {
	if stale(claim, w.Set, kind) || stale(claim, pod, podKind) {
		return claim.OwnerReferences, false
	}
	const deletes = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	policy := w.retention()
	withPod := policy.WhenScaled == deletes && !w.inRange(ordinal)
	withSet := policy.WhenDeleted == deletes && !withPod
	for _, ref := range claim.OwnerReferences {
		if refersTo(ref, w.Set, kind) || refersTo(ref, pod, podKind) {
			continue
		}
		owners = append(owners, ref)
		conflict = conflict || ref.Controller != nil && *ref.Controller
	}
	conflict = conflict && (policy.WhenDeleted == deletes || policy.WhenScaled == deletes)
	switch {
	case conflict: // two controllers would each have it their way
	case withSet:
		owners = append(owners, *metav1.NewControllerRef(w.Set, kind))
	case withPod:
		owners = append(owners, *metav1.NewControllerRef(pod, podKind))
	}
	return owners, conflict
}

// refersTo says whether an owner reference is to an object of that kind and name.
func refersTo(ref metav1.OwnerReference, obj client.Object, kind schema.GroupVersionKind) bool {
	return ref.APIVersion == kind.GroupVersion().String() && ref.Kind == kind.Kind && ref.Name == obj.GetName()
}

// stale says whether a claim refers to another object that had the same name.
func stale(claim *corev1.PersistentVolumeClaim, obj client.Object, kind schema.GroupVersionKind) bool {
	for _, ref := range claim.OwnerReferences {
		if refersTo(ref, obj, kind) {
			return ref.UID != obj.GetUID()
		}
	}
	return false
}

// claimsOf are the sets that a claim may be of, by its name.
func claimsOf(name string, exists func(set string) bool) (sets []string) {
	rest, _, ok := parse(name)
	if !ok {
		return nil
	}
	for i, c := range rest {
		if c == '-' && exists(rest[i+1:]) {
			sets = append(sets, rest[i+1:])
		}
	}
	return sets
}
