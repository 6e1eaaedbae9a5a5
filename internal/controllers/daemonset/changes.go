package daemonset

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// changes collects what a decision changes.
type changes struct {
	set *appsv1.DaemonSet
	// create lists the nodes that get a pod, deletions the pod deletions, events the events, and requeueAfter
	// is the time until the next decision is due; 0 means none.
	create       []string
	deletions    action.Parallel
	events       []action.Action
	requeueAfter time.Duration
}

// addEvent records an event about the set.
func (c *changes) addEvent(warning bool, reason, format string, args ...any) {
	c.events = append(c.events, action.Event{Object: c.set, Warning: warning, Reason: reason,
		Message: fmt.Sprintf(format, args...)})
}

// requeue requests another decision after the given time, unless an earlier one has been requested.
func (c *changes) requeue(after time.Duration) {
	if after > 0 && (c.requeueAfter == 0 || after < c.requeueAfter) {
		c.requeueAfter = after
	}
}

// delete deletes a pod unless it is already being deleted.
func (c *changes) delete(pod *corev1.Pod) {
	if pod.DeletionTimestamp == nil {
		c.deletions = append(c.deletions, c.deletion(pod))
	}
}

// deletion returns the deletion of a pod, with its events.
func (c *changes) deletion(pod *corev1.Pod) action.Delete[*corev1.Pod] {
	return action.Delete[*corev1.Pod]{Resource: pods.Resource, Object: pod, Events: action.Events{
		Object: c.set, Reason: "SuccessfulDelete", Message: "Deleted pod: " + pod.Name,
		FailureReason: "FailedDelete", FailurePrefix: "Error deleting: ",
	}}
}

// deleteIfUnchanged deletes a pod unless it has changed since it was observed: an unavailable pod may have become
// available.
func (c *changes) deleteIfUnchanged(pod *corev1.Pod) {
	deletion := c.deletion(pod)
	deletion.IfUnchanged = true
	c.deletions = append(c.deletions, deletion)
}

// deleteAll deletes the pods of a node that must not run them. observed is the match of the node with the template when
// the deletion was decided.
func (c *changes) deleteAll(eligible eligibility, node string, observed nodeMatch, nodePods []*corev1.Pod) {
	for _, pod := range nodePods {
		if pod.DeletionTimestamp == nil {
			c.deletions = append(c.deletions, nodeGuard{c.deletion(pod), eligible, node, observed})
		}
	}
}
