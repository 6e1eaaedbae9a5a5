package daemonset

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// decideNode decides about the pods of a node, regardless of their template.
func (d *decision) decideNode(node *corev1.Node) {
	there := d.podsByNode[node.Name]
	is := d.eligibility.of(node)
	switch {
	case is.shouldRun && len(there) == 0:
		d.createOn(node.Name)
	case is.mayRun:
		d.retainOne(node.Name, d.runningPods(node.Name), is.shouldRun)
	default:
		d.deleteAll(node.Name, is, there)
	}
}

// runningPods returns the pods of a node that run or have yet to start. It deletes terminated pods, so that new
// ones can be created.
func (d *decision) runningPods(node string) (running []*corev1.Pod) {
	for _, pod := range d.podsByNode[node] {
		switch {
		case pod.DeletionTimestamp != nil:
		case pods.IsTerminal(pod):
			d.replaceEnded(pod, node)
		default:
			running = append(running, pod)
		}
	}
	return running
}

// replaceEnded deletes a pod that has terminated, whether it failed or succeeded, since daemons run forever.
// If the node's pods keep terminating, the deletion is delayed by a back-off.
func (d *decision) replaceEnded(pod *corev1.Pod, node string) {
	place := fmt.Sprintf("%s/%d/%s", d.Set.UID, d.Set.Status.ObservedGeneration, node)
	if left := d.Backoff.Remaining(place, d.Now); left > 0 {
		d.requeue(left)
		return
	}
	if pod.Status.Phase == corev1.PodFailed {
		d.addEvent(true, "FailedDaemonPod", "Found failed daemon pod %s/%s on node %s, will try to kill it",
			pod.Namespace,
			pod.Name, node)
	} else {
		d.addEvent(false, "SucceededDaemonPod", "Found succeeded daemon pod %s/%s on node %s, will try to delete it",
			pod.Namespace, pod.Name, node)
	}
	d.deletions = append(d.deletions, d.Backoff.StartBefore(place, d.deletion(pod)))
}

// retainOne deletes all but one pod of a node. With a surge, the node may have one pod of the current template
// and one of an earlier one.
func (d *decision) retainOne(node string, running []*corev1.Pod, should bool) {
	switch {
	case !d.surges():
		for i, pod := range running {
			if i > 0 {
				d.delete(pod)
			}
		}
	case should && !slices.ContainsFunc(d.podsByNode[node], func(pod *corev1.Pod) bool {
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
		switch isNext := pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == d.hash; {
		case isNext && next == nil:
			next = pod
		case !isNext && old == nil:
			old = pod
		default:
			d.delete(pod)
		}
	}
	if next != nil && old != nil && (!pods.IsReady(old) || d.available(next)) {
		d.delete(old)
	}
}

// available reports whether a pod has been ready for the set's minReadySeconds. If that time has not passed
// yet, it requests another decision for when it has.
func (d *decision) available(pod *corev1.Pod) bool {
	in, ready := pods.AvailableIn(pod, d.Set.Spec.MinReadySeconds, d.Now)
	d.requeue(in)
	return ready && in == 0
}

func (d *decision) addEvent(warning bool, reason, format string, args ...any) {
	d.events = append(d.events, action.Event{Object: d.Set, Warning: warning, Reason: reason,
		Message: fmt.Sprintf(format, args...)})
}

func (d *decision) delete(pod *corev1.Pod) {
	if pod.DeletionTimestamp == nil {
		d.deletions = append(d.deletions, d.deletion(pod))
	}
}

func (d *decision) deletion(pod *corev1.Pod) action.Delete[*corev1.Pod] {
	return action.Delete[*corev1.Pod]{Resource: pods.Resource, Object: pod, Events: action.Events{
		Object: d.Set, Reason: "SuccessfulDelete", Message: "Deleted pod: " + pod.Name,
		FailureReason: "FailedDelete", FailurePrefix: "Error deleting: ",
	}}
}

// creations returns the creations of the current template's pods on the nodes in d.create.
func (d *decision) creations() (made action.Parallel) {
	template := d.Set.Spec.Template.DeepCopy()
	template.Spec.Tolerations = templateTolerations(&template.Spec)
	// a selector without required labels, such as DoesNotExist, permits a template without labels
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	template.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = d.hash
	if d.generation != "" {
		template.Labels[extensionsv1beta1.DaemonSetTemplateGenerationKey] = d.generation
	}
	given := map[string]bool{}
	for _, node := range d.create[:min(len(d.create), maxBatch)] {
		name := d.nameOn(node, given)
		pod := pods.New(template, d.Set, kind, name)
		pod.Spec.Affinity = restrictToNode(pod.Spec.Affinity, node)
		create := action.Create[*corev1.Pod]{Resource: pods.Resource, Object: pod, Events: action.Events{
			Object: d.Set, Reason: "SuccessfulCreate", Message: "Created pod: " + name,
			FailureReason: "FailedCreate", FailurePrefix: "Error creating: ",
		}}
		made = append(made, nodeGuard{create, d.eligibility, node,
			nodeMatch{exists: true, shouldRun: true, mayRun: true}})
	}
	return made
}

// nameOn returns the first free name for the current template's pod on a node and adds it to given, the names
// used in this run.
func (d *decision) nameOn(node string, given map[string]bool) string {
	for n := 0; ; n++ {
		name := pods.NameForKey(d.Set, node, d.hash, n)
		if d.nameIsFree(name) && !given[name] {
			given[name] = true
			return name
		}
	}
}

// nameIsFree reports whether a name can be used for a new pod: no pod has it, or the pod is the set's but was not
// observed yet, so that the creation is the same one.
func (d *decision) nameIsFree(name string) bool {
	pod := d.Pod(name)
	return pod == nil || metav1.IsControlledBy(pod, d.Set) &&
		!slices.ContainsFunc(d.pods, func(seen *corev1.Pod) bool { return seen.UID == pod.UID })
}

// isCurrent reports whether a pod is of the current template. Pods that predate the hash label are identified by
// the template generation.
func (d *decision) isCurrent(pod *corev1.Pod) bool {
	return pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == d.hash ||
		d.generation != "" && pod.Labels[extensionsv1beta1.DaemonSetTemplateGenerationKey] == d.generation
}

// generationOf returns the template generation in the set's deprecated annotation, or "" if there is none.
func generationOf(set *appsv1.DaemonSet) string {
	number, err := strconv.ParseInt(set.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return ""
	}
	return strconv.FormatInt(number, 10)
}

// nodesWithPods returns the sorted names of the nodes that have pods, including nodes that no longer exist.
func (d *decision) nodesWithPods() []string { return slices.Sorted(maps.Keys(d.podsByNode)) }
