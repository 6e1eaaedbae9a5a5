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
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/adopt"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// Set is what a ReplicaSet and a ReplicationController have in common.
type Set struct {
	Object   client.Object
	Kind     schema.GroupVersionKind
	In       schema.GroupVersionResource
	Replicas int
	MinReady int32
	Selector labels.Selector
	Template *corev1.PodTemplateSpec
	// Status is what the object says now. CountsEnding says that this kind's has a count of the pods that are being deleted.
	Status       appsv1.ReplicaSetStatus
	CountsEnding bool
}

// Seen is what a decision is made of.
type Seen struct {
	Set
	// Pods are those that the set controls and those that nobody does, in its namespace; ended and ending ones too.
	Pods []*corev1.Pod
	// Claims are whose they are: ClaimsOf.
	Claims adopt.Claims[*corev1.Pod]
	// Related does the same work: the pods of all sets of the same owner. They are only looked at when pods are deleted.
	Related []*corev1.Pod
	// Fight is what the set has lost to somebody who changes its pods.
	Fight Fight
	// Taken says that some pod of the namespace has a name.
	Taken func(name string) bool
	Now   time.Time
}

// most is how many pods are created or deleted in one run: the status is told in between.
const most = 500

// ClaimsOf says whose pods are whose, of those that do their work: what has ended or is ending is neither adopted nor released.
func ClaimsOf(s Set, all []*corev1.Pod) adopt.Claims[*corev1.Pod] {
	active := make([]*corev1.Pod, 0, len(all))
	for _, pod := range all {
		if pods.IsActive(pod) {
			active = append(active, pod)
		}
	}
	return adopt.Claim(s.owner(), active)
}

func (s Set) owner() adopt.Owner {
	return adopt.Owner{Object: s.Object, Kind: s.Kind, In: s.In, Selector: s.Selector}
}

// mine are the pods that count: those that the set has, with what it adopts.
func (s Seen) mine() []*corev1.Pod {
	if len(s.Claims.Adopted) == 0 {
		return s.Claims.Owned
	}
	return slices.Concat(s.Claims.Owned, s.Claims.Adopted)
}

// ending is how many pods of the set are being deleted, and have not ended yet.
func (s Seen) ending() (count int32) {
	for _, pod := range s.Pods {
		if pod.DeletionTimestamp != nil && !pods.HasEnded(pod) &&
			metav1.IsControlledBy(pod, s.Object) && s.Selector.Matches(labels.Set(pod.Labels)) {
			count++
		}
	}
	return count
}

// Claim says what is to be done about whose pods are whose. It must have succeeded before anything else is done.
func Claim(s Seen) []action.Action { return s.Claims.Actions(s.owner(), pods.Resource) }

// Decide says what is to be done such that the set has as many active pods as it should.
func Decide(s Seen) (keep []action.Action) {
	if s.Object.GetDeletionTimestamp() != nil {
		return nil
	}
	active := s.mine()
	missing, trouble := s.Replicas-len(active), s.trouble()
	switch {
	case missing > 0 && trouble != nil && trouble.wait(s.Now) > 0:
	case missing > 0 && trouble != nil:
		keep = append(keep, s.create(1))
	case missing > 0:
		keep = append(keep, s.create(min(missing, most)))
	case missing < 0:
		keep = append(keep, s.delete(active, min(-missing, most)))
	}
	return keep
}

// create makes pods under the first names that no pod has.
func (s Seen) create(count int) action.Together {
	var made action.Together
	for n := 0; len(made) < count; n++ {
		name := pods.Name(s.Object, n)
		if s.Taken(name) {
			continue
		}
		made = append(made, action.Create[*corev1.Pod]{
			In: pods.Resource, Object: pods.New(s.Template, s.Object, s.Kind, name),
			Tell: action.Tell{
				About: s.Object, Reason: "SuccessfulCreate", Message: "Created pod: " + name,
				FailureReason: "FailedCreate", FailureBegin: "Error creating: ",
			},
		})
	}
	return made
}

// delete deletes the pods that are the least loss.
func (s Seen) delete(active []*corev1.Pod, count int) action.Together {
	active = slices.Clone(active)
	pods.DeletionOrder(active, s.Related, s.Now)
	var deleted action.Together
	for _, pod := range active[:count] {
		deleted = append(deleted, action.Delete[*corev1.Pod]{
			In: pods.Resource, Object: pod,
			Tell: action.Tell{
				About: s.Object, Reason: "SuccessfulDelete", Message: "Deleted pod: " + pod.Name,
				FailureReason: "FailedDelete", FailureBegin: "Error deleting: ",
			},
		})
	}
	return deleted
}

// Report is the status of what was seen, and when it will be another although nothing happens: 0 for never. failure is what
// keeping the pods ended with.
func Report(s Seen, failure error) (status appsv1.ReplicaSetStatus, again time.Duration) {
	status = *s.Status.DeepCopy()
	status.Replicas, status.FullyLabeledReplicas, status.ReadyReplicas, status.AvailableReplicas = 0, 0, 0, 0
	status.ObservedGeneration = s.Object.GetGeneration()
	template := labels.SelectorFromSet(s.Template.Labels)
	for _, pod := range s.mine() {
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
		} else if again == 0 || in < again {
			again = in
		}
	}
	if s.CountsEnding {
		status.TerminatingReplicas = ptr.To(s.ending())
	}
	status.Conditions = s.conditions(failure)
	if in := s.troubledFor(); in > 0 && (again == 0 || in < again) {
		again = in
	}
	return status, again
}

// conditions are those of the status with what keeping the pods failed with; of several failures in a row, with the first.
func (s Seen) conditions(failure error) (conditions []appsv1.ReplicaSetCondition) {
	var before *appsv1.ReplicaSetCondition
	for i, c := range s.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure {
			before = &s.Status.Conditions[i]
			continue
		}
		conditions = append(conditions, c)
	}
	if failure == nil {
		return conditions
	}
	if before != nil {
		return append(conditions, *before)
	}
	reason, known := "FailedCreate", trouble(nil)
	switch {
	case errors.As(failure, &known):
		reason = known.reason()
	case s.Replicas < len(s.mine()):
		reason = "FailedDelete"
	}
	return append(conditions, appsv1.ReplicaSetCondition{
		Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.Now),
		Reason: reason, Message: fmt.Sprint(failure),
	})
}
