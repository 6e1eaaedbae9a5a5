package daemonset

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// decideNode decides about the pods of a node, regardless of their template.
func (d *decision) decideNode(node *corev1.Node) {
	nodePods := d.podsByNode[node.Name]
	match := d.eligibility.match(node)
	switch {
	case match.shouldRun && len(nodePods) == 0:
		d.createOn(node.Name)
	case match.mayRun:
		running, ended := d.sortOut(node.Name)
		if match.shouldRun && ended == len(nodePods) {
			d.createOn(node.Name)
			return
		}
		d.retainOne(node.Name, running, match.shouldRun)
	default:
		d.changes.deleteAll(d.eligibility, node.Name, match, nodePods)
	}
}

// sortOut returns the pods of a node that run or have yet to start. It deletes the terminated pods whose back-off has
// passed, and returns how many these are.
//
// If a node has only pods that are deleted here, the same decision replaces them: the replacement gets another name
// then, because theirs is still in use. A client that waits until a failed pod is gone must not find a new pod of that
// name.
func (d *decision) sortOut(node string) (running []*corev1.Pod, ended int) {
	for _, pod := range d.podsByNode[node] {
		switch {
		case pod.DeletionTimestamp != nil:
		case pods.IsTerminal(pod):
			if d.deleteEnded(pod, node) {
				ended++
			}
		default:
			running = append(running, pod)
		}
	}
	return running, ended
}

// deleteEnded deletes a pod that has terminated, whether it failed or succeeded, since daemons run forever.
// If the node's pods keep terminating, a back-off delays the deletion, and deleteEnded returns false.
func (d *decision) deleteEnded(pod *corev1.Pod, node string) bool {
	key := fmt.Sprintf("%s/%d/%s", d.Set.UID, d.Set.Status.ObservedGeneration, node)
	if remaining := d.Backoff.Remaining(key, d.Now); remaining > 0 {
		d.changes.requeue(remaining)
		return false
	}
	if pod.Status.Phase == corev1.PodFailed {
		d.changes.addEvent(true, "FailedDaemonPod", "Found failed daemon pod %s/%s on node %s, will try to kill it",
			pod.Namespace, pod.Name, node)
	} else {
		d.changes.addEvent(false, "SucceededDaemonPod",
			"Found succeeded daemon pod %s/%s on node %s, will try to delete it",
			pod.Namespace, pod.Name, node)
	}
	d.changes.deletions = append(d.changes.deletions, d.Backoff.StartBefore(key, d.changes.deletion(pod)))
	return true
}

// retainOne deletes all but one pod of a node. With a surge, the node may have one pod of the current template
// and one of an earlier one.
func (d *decision) retainOne(node string, running []*corev1.Pod, shouldRun bool) {
	switch {
	case !surges(d.Set):
		for i, pod := range running {
			if i > 0 {
				d.changes.delete(pod)
			}
		}
	case shouldRun && !slices.ContainsFunc(d.podsByNode[node], func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp == nil
	}):
		d.createOn(node) // all pods are being deleted; a failed pod that waits for its back-off prevents this
	case len(running) > 1:
		d.retainPair(running)
	}
}

// retainPair keeps the oldest pod of the current template and the oldest pod of any other template, and deletes
// the rest. It also deletes the pod of the other template if that is not ready or the pod of the current
// template is available.
func (d *decision) retainPair(running []*corev1.Pod) {
	var next, old *corev1.Pod
	for _, pod := range running {
		switch isNext := pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == d.factory.hash; {
		case isNext && next == nil:
			next = pod
		case !isNext && old == nil:
			old = pod
		default:
			d.changes.delete(pod)
		}
	}
	if next != nil && old != nil && (!pods.IsReady(old) || d.available(next)) {
		d.changes.delete(old)
	}
}

// available reports whether a pod has been ready for the set's minReadySeconds. If that time has not passed
// yet, it requests another decision for when it has.
func (d *decision) available(pod *corev1.Pod) bool {
	in, ready := pods.AvailableIn(pod, d.Set.Spec.MinReadySeconds, d.Now)
	d.changes.requeue(in)
	return ready && in == 0
}

// nodesWithPods returns the sorted names of the nodes that have pods, including nodes that no longer exist.
func (d *decision) nodesWithPods() []string { return slices.Sorted(maps.Keys(d.podsByNode)) }
