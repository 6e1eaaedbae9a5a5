package replicaset

import (
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Set has the fields that ReplicaSets and ReplicationControllers share.
type Set struct {
	Object   client.Object
	Kind     schema.GroupVersionKind
	In       schema.GroupVersionResource
	Replicas int
	MinReady int32
	Selector labels.Selector
	Template *corev1.PodTemplateSpec
	// Status is the current status of the object. CountsTerminating is set if the kind's status counts pods that
	// are being deleted.
	Status            appsv1.ReplicaSetStatus
	CountsTerminating bool
}

// Observed is the observed state that a decision is based on.
type Observed struct {
	Set
	// Pods are the pods of the namespace that the set controls or that have no controller, including
	// terminated and deleted ones.
	Pods []*corev1.Pod
	// Claims is the result of ClaimsOf.
	Claims ownership.Claims[*corev1.Pod]
	// Related are the pods of all sets with the same owner. They are only needed to delete pods.
	Related []*corev1.Pod
	// Usage counts the pods that share the limits of package podlimit with this set. It is only needed to create pods.
	Usage podlimit.Usage
	// Loss counts the pods that the set has lost because their labels were changed.
	Loss PodLoss
	// NameTaken reports whether a pod of the namespace has a name.
	NameTaken func(name string) bool
	Now       time.Time
}

// maxBatch limits how many pods are created or deleted at once; the status is updated in between.
const maxBatch = 500

// ClaimsOf returns the claims of a set on its active pods: pods that have terminated or are being deleted are
// neither adopted nor released.
func ClaimsOf(s Set, all []*corev1.Pod) ownership.Claims[*corev1.Pod] {
	active := make([]*corev1.Pod, 0, len(all))
	for _, pod := range all {
		if pods.IsActive(pod) {
			active = append(active, pod)
		}
	}
	return ownership.Claim(s.owner(), active)
}

func (s Set) owner() ownership.Owner {
	return ownership.Owner{Object: s.Object, Kind: s.Kind, Resource: s.In, Selector: s.Selector}
}

// active returns the pods that count: those that the set owns or adopts.
func (s Observed) active() []*corev1.Pod {
	if len(s.Claims.Adopted) == 0 {
		return s.Claims.Owned
	}
	return slices.Concat(s.Claims.Owned, s.Claims.Adopted)
}

// terminating returns how many pods of the set are being deleted and have not terminated.
func (s Observed) terminating() (count int32) {
	for _, pod := range s.Pods {
		if pod.DeletionTimestamp != nil && !pods.IsTerminal(pod) &&
			metav1.IsControlledBy(pod, s.Object) && s.Selector.Matches(labels.Set(pod.Labels)) {
			count++
		}
	}
	return count
}

// Claim returns the adoptions and releases. They must succeed before Decide's actions are carried out.
func Claim(s Observed) []action.Action { return s.Claims.Actions(s.owner(), pods.Resource) }

// Decide returns the creations or deletions of pods that bring their number to the desired one.
func Decide(s Observed) (actions []action.Action) {
	if s.Object.GetDeletionTimestamp() != nil {
		return nil
	}
	active := s.active()
	missing, cause := s.Replicas-len(active), s.obstacle()
	switch {
	case missing > 0 && cause != nil && cause.delay(s.Now) > 0:
	case missing > 0:
		count := min(s.Usage.Grant(missing).Pods, maxBatch)
		if cause != nil {
			count = min(count, 1)
		}
		if count > 0 {
			actions = append(actions, s.create(count))
		}
	case missing < 0:
		actions = append(actions, s.delete(active, min(-missing, maxBatch)))
	}
	return actions
}

// create creates pods under the first names that are free.
func (s Observed) create(count int) action.Parallel {
	var creates action.Parallel
	for n := 0; len(creates) < count; n++ {
		name := pods.Name(s.Object, n)
		if s.NameTaken(name) {
			continue
		}
		creates = append(creates, action.Create[*corev1.Pod]{
			Resource: pods.Resource, Object: pods.New(s.Template, s.Object, s.Kind, name),
			Events: action.Events{
				Object: s.Object, Reason: "SuccessfulCreate", Message: "Created pod: " + name,
				FailureReason: "FailedCreate", FailurePrefix: "Error creating: ",
			},
		})
	}
	return creates
}

// delete deletes the pods whose loss matters least. See pods.SortForDeletion.
func (s Observed) delete(active []*corev1.Pod, count int) action.Parallel {
	active = slices.Clone(active)
	pods.SortForDeletion(active, s.Related, s.Now)
	var deleted action.Parallel
	for _, pod := range active[:count] {
		deleted = append(deleted, action.Delete[*corev1.Pod]{
			Resource: pods.Resource, Object: pod,
			Events: action.Events{
				Object: s.Object, Reason: "SuccessfulDelete", Message: "Deleted pod: " + pod.Name,
				FailureReason: "FailedDelete", FailurePrefix: "Error deleting: ",
			},
		})
	}
	return deleted
}

// limit returns which limit delays the creation of pods, and for how long.
func (s Observed) limit() podlimit.Grant {
	if s.Object.GetDeletionTimestamp() != nil || s.obstacle() != nil {
		return podlimit.Grant{}
	}
	return s.Usage.Grant(s.Replicas - len(s.active()))
}

// Report returns the status of the observed state, and after how long it will change without an event; 0
// means never. failure is the error of creating or deleting pods, or the reason why they are not created.
func Report(s Observed, failure error) (status appsv1.ReplicaSetStatus, recheckAfter time.Duration) {
	status = *s.Status.DeepCopy()
	status.Replicas, status.FullyLabeledReplicas, status.ReadyReplicas, status.AvailableReplicas = 0, 0, 0, 0
	status.ObservedGeneration = s.Object.GetGeneration()
	template := labels.SelectorFromSet(s.Template.Labels)
	for _, pod := range s.active() {
		status.Replicas++
		if template.Matches(labels.Set(pod.Labels)) {
			status.FullyLabeledReplicas++
		}
		in, ready := pods.AvailableIn(pod, s.MinReady, s.Now)
		if !ready {
			continue
		}
		status.ReadyReplicas++
		if in == 0 {
			status.AvailableReplicas++
		} else if recheckAfter == 0 || in < recheckAfter {
			recheckAfter = in
		}
	}
	if s.CountsTerminating {
		status.TerminatingReplicas = ptr.To(s.terminating())
	}
	status.Conditions = s.conditions(failure)
	for _, in := range []time.Duration{s.recheckAfter(), s.limit().Wait} {
		if in > 0 && (recheckAfter == 0 || in < recheckAfter) {
			recheckAfter = in
		}
	}
	return status, recheckAfter
}

// conditions returns the conditions of the status with the failure; of several failures in a row, the first
// is retained, unless a limit is the reason now.
func (s Observed) conditions(failure error) (conditions []appsv1.ReplicaSetCondition) {
	var existing *appsv1.ReplicaSetCondition
	for i, c := range s.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure {
			existing = &s.Status.Conditions[i]
			continue
		}
		conditions = append(conditions, c)
	}
	if failure == nil {
		return conditions
	}
	refusal := (*podlimit.Refusal)(nil)
	limited := errors.As(failure, &refusal)
	if existing != nil && (!limited || existing.Message == refusal.Error()) {
		return append(conditions, *existing)
	}
	reason, cause := podlimit.Reason, obstacle(nil)
	switch {
	case errors.As(failure, &cause):
		reason = cause.reason()
	case s.Replicas < len(s.active()):
		reason = "FailedDelete"
	}
	return append(conditions, appsv1.ReplicaSetCondition{
		Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.Now),
		Reason: reason, Message: fmt.Sprint(failure),
	})
}
