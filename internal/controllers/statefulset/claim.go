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
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

var (
	claimsResource = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	podKind        = corev1.SchemeGroupVersion.WithKind("Pod")
)

// claimTemplates returns the claim templates of a set. If several have the same name, the last one applies,
// because the volume names of a pod are unique.
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

// claimName returns the name of the claim of a template for an ordinal.
func claimName(set *appsv1.StatefulSet, template *corev1.PersistentVolumeClaim, ordinal int) string {
	return template.Name + "-" + podName(set, ordinal)
}

// newClaim returns the claim of a template for an ordinal.
func newClaim(set *appsv1.StatefulSet, template *corev1.PersistentVolumeClaim,
	ordinal int) *corev1.PersistentVolumeClaim {
	claim := template.DeepCopy()
	claim.Name, claim.Namespace = claimName(set, template, ordinal), set.Namespace
	labels := map[string]string{}
	maps.Copy(labels, claim.Labels)
	maps.Copy(labels, set.Spec.Selector.MatchLabels)
	claim.Labels = labels
	return claim
}

// createClaims returns the creations of the claims that a pod uses and that do not exist.
func (w *decision) createClaims(pod *corev1.Pod, ordinal int) (creates []action.Action) {
	for _, template := range claimTemplates(w.Set) {
		claim := newClaim(w.Set, template, ordinal)
		if w.Claim(claim.Name) != nil {
			continue
		}
		claim.OwnerReferences, _ = w.owners(claim, pod, ordinal)
		creates = append(creates, w.createClaim(claim, pod))
	}
	return creates
}

// createClaim returns the creation of a claim, with its events. An existing claim that the cache did not show is
// accepted, since claims outlive pods.
func (w *decision) createClaim(claim *corev1.PersistentVolumeClaim, pod *corev1.Pod) action.Action {
	about := fmt.Sprintf("Pod %s in StatefulSet %s", pod.Name, w.Set.Name)
	create := action.Create[*corev1.PersistentVolumeClaim]{Resource: claimsResource, Object: claim,
		AcceptExisting: true, Events: action.Events{
			Object: w.Set, Reason: "SuccessfulCreate",
			Message:       fmt.Sprintf("Create Claim %s %s success", claim.Name, about),
			FailureReason: "FailedCreate",
			FailurePrefix: fmt.Sprintf("Create Claim %s for %s failed error: ", claim.Name, about),
		}}
	return action.OnFailure{Action: create, Else: func(err error) action.Action {
		return w.event(true, "FailedCreate", "Create %s failed error: failed to create PVC %s: %v", about, claim.Name,
			err)
	}}
}

// blocked reports whether a pod cannot be created yet because one of its claims is being deleted, or will be
// deleted with the previous pod of this name. reason is the reason to report in an event, or "" to report
// none.
func (w *decision) blocked(pod *corev1.Pod, ordinal int) (reason string, blocked bool) {
	for _, template := range claimTemplates(w.Set) {
		claim := w.Claim(claimName(w.Set, template, ordinal))
		if claim == nil {
			continue
		}
		if w.retention().WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType &&
			refersToPredecessor(claim, pod, podKind) {
			return "", true
		}
		if claim.DeletionTimestamp != nil {
			return fmt.Sprintf("pvc %s is being deleted", claim.Name), true
		}
	}
	return "", false
}

// updateClaimOwners updates the owners of a pod's claims according to the retention policy, so that the garbage
// collector deletes the claims with the owners. If another controller owns a claim, an event is recorded when
// the owners change and when the pod is created.
func (w *decision) updateClaimOwners(pod *corev1.Pod, ordinal int) (updates []action.Action) {
	for _, template := range claimTemplates(w.Set) {
		claim := w.Claim(claimName(w.Set, template, ordinal))
		if claim == nil {
			continue
		}
		owners, conflict := w.owners(claim, pod, ordinal)
		same := equality.Semantic.DeepEqual(owners, claim.OwnerReferences)
		if conflict && (!same || pod.UID == "") {
			updates = append(updates,
				w.event(true, "ConflictingController", "PersistentVolumeClaim %s has a conflicting OwnerReference "+
					"that acts as a managing controller, the retention policy is ignored for this claim", claim.Name))
		}
		if same {
			continue
		}
		claim = claim.DeepCopy()
		claim.OwnerReferences = owners
		updates = append(updates, action.Update[*corev1.PersistentVolumeClaim]{Resource: claimsResource, Object: claim})
	}
	return updates
}

func (w *decision) retention() appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
	if policy := w.Set.Spec.PersistentVolumeClaimRetentionPolicy; policy != nil {
		return *policy
	}
	return appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
		WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
}

// owners returns the owner references that a claim should have by the retention policy: the set, if the claim
// is deleted with it; or the pod, if the claim is deleted with it and the set was scaled below its ordinal.
// Other owners are retained. References to an earlier set or pod of the same name are left to the garbage
// collector, and the owners stay unchanged until then. conflict is true if the policy deletes claims and
// another controller owns this one.
func (w *decision) owners(claim *corev1.PersistentVolumeClaim, pod *corev1.Pod,
	ordinal int) (owners []metav1.OwnerReference, conflict bool) {
	if refersToPredecessor(claim, w.Set, kind) || refersToPredecessor(claim, pod, podKind) {
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
	case conflict: // a second controller reference would be invalid, so the policy does not apply
	case withSet:
		owners = append(owners, *metav1.NewControllerRef(w.Set, kind))
	case withPod:
		owners = append(owners, *metav1.NewControllerRef(pod, podKind))
	}
	return owners, conflict
}

// refersTo reports whether an owner reference has the kind of an object and its name.
func refersTo(ref metav1.OwnerReference, obj client.Object, kind schema.GroupVersionKind) bool {
	return ref.APIVersion == kind.GroupVersion().String() && ref.Kind == kind.Kind && ref.Name == obj.GetName()
}

// refersToPredecessor reports whether a claim refers to an earlier object with the name of obj.
func refersToPredecessor(claim *corev1.PersistentVolumeClaim, obj client.Object, kind schema.GroupVersionKind) bool {
	for _, ref := range claim.OwnerReferences {
		if refersTo(ref, obj, kind) {
			return ref.UID != obj.GetUID()
		}
	}
	return false
}

// claimsOf returns the existing sets whose claim the name may be. It can return several, since the names of
// templates and sets may contain dashes.
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
