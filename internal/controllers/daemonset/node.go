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

	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// onNode decides about the pods of a node, whatever template they are of.
func (d *daemons) onNode(node *corev1.Node) {
	there := d.on[node.Name]
	is := d.place.of(node)
	switch {
	case is.should && len(there) == 0:
		d.lacks(node.Name)
	case is.may:
		d.keepOne(node.Name, d.running(node.Name), is.should)
	default:
		d.leave(node.Name, is, there)
	}
}

// running are the pods of a node that do their work, or will. Those that have ended are deleted, so that others can be made.
func (d *daemons) running(node string) (running []*corev1.Pod) {
	for _, pod := range d.on[node] {
		switch {
		case pod.DeletionTimestamp != nil:
		case pods.HasEnded(pod):
			d.replaceEnded(pod, node)
		default:
			running = append(running, pod)
		}
	}
	return running
}

// replaceEnded deletes a pod that has ended, however it did: what a daemon does has no end. Where they end again and again it
// is left alone for a while.
func (d *daemons) replaceEnded(pod *corev1.Pod, node string) {
	place := fmt.Sprintf("%s/%d/%s", d.Set.UID, d.Set.Status.ObservedGeneration, node)
	if left := d.Pauses.Left(place, d.Now); left > 0 {
		d.soon(left)
		return
	}
	if pod.Status.Phase == corev1.PodFailed {
		d.tell(true, "FailedDaemonPod", "Found failed daemon pod %s/%s on node %s, will try to kill it", pod.Namespace, pod.Name, node)
	} else {
		d.tell(false, "SucceededDaemonPod", "Found succeeded daemon pod %s/%s on node %s, will try to delete it",
			pod.Namespace, pod.Name, node)
	}
	d.remove = append(d.remove, d.Pauses.Before(place, d.deletion(pod)))
}

// keepOne leaves a node one pod; two where the next one comes beside the one before it.
func (d *daemons) keepOne(node string, running []*corev1.Pod, should bool) {
	switch {
	case !d.surges():
		for i, pod := range running {
			if i > 0 {
				d.delete(pod)
			}
		}
	case should && !slices.ContainsFunc(d.on[node], func(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil }):
		d.lacks(node) // beside those that go; one that has failed, and is left alone for a while, has its place
	case len(running) > 1:
		d.keepPair(running)
	}
}

// keepPair leaves the oldest pod of the template, and beside it the oldest of another one until the first is available: unless
// that one is not ready, and so worth nothing.
func (d *daemons) keepPair(running []*corev1.Pod) {
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

// available says whether a pod has been ready for long enough, and notes when it will have been.
func (d *daemons) available(pod *corev1.Pod) bool {
	in, ready := pods.AvailableIn(pod, d.Set.Spec.MinReadySeconds, d.Now)
	d.soon(in)
	return ready && in == 0
}

func (d *daemons) tell(warning bool, reason, format string, args ...any) {
	d.told = append(d.told, action.Event{About: d.Set, Warning: warning, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

func (d *daemons) delete(pod *corev1.Pod) {
	if pod.DeletionTimestamp == nil {
		d.remove = append(d.remove, d.deletion(pod))
	}
}

func (d *daemons) deletion(pod *corev1.Pod) action.Delete[*corev1.Pod] {
	return action.Delete[*corev1.Pod]{In: pods.Resource, Object: pod, Tell: action.Tell{
		About: d.Set, Reason: "SuccessfulDelete", Message: "Deleted pod: " + pod.Name,
		FailureReason: "FailedDelete", FailureBegin: "Error deleting: ",
	}}
}

// created are the pods of the template for the nodes that get one.
func (d *daemons) created() (made action.Together) {
	template := d.Set.Spec.Template.DeepCopy()
	template.Spec.Tolerations = tolerations(&template.Spec)
	if template.Labels == nil { // a selector may ask for no more than that a label is not there
		template.Labels = map[string]string{}
	}
	template.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = d.hash
	if d.generation != "" {
		template.Labels[extensionsv1beta1.DaemonSetTemplateGenerationKey] = d.generation
	}
	given := map[string]bool{}
	for _, node := range d.create[:min(len(d.create), most)] {
		name := d.nameOn(node, given)
		pod := pods.New(template, d.Set, kind, name)
		pod.Spec.Affinity = onlyOn(pod.Spec.Affinity, node)
		create := action.Create[*corev1.Pod]{In: pods.Resource, Object: pod, Tell: action.Tell{
			About: d.Set, Reason: "SuccessfulCreate", Message: "Created pod: " + name,
			FailureReason: "FailedCreate", FailureBegin: "Error creating: ",
		}}
		made = append(made, onNode{create, d.place, node, standing{there: true, should: true, may: true}})
	}
	return made
}

// nameOn is the first name for the template's pod on a node that is free, and is not given away now.
func (d *daemons) nameOn(node string, given map[string]bool) string {
	for n := 0; ; n++ {
		name := pods.NameOn(d.Set, node, d.hash, n)
		if d.free(name) && !given[name] {
			given[name] = true
			return name
		}
	}
}

// free says whether no pod has a name, or one of the set that has only just come: that is the one which would be made.
func (d *daemons) free(name string) bool {
	pod := d.Pod(name)
	return pod == nil || metav1.IsControlledBy(pod, d.Set) &&
		!slices.ContainsFunc(d.pods, func(seen *corev1.Pod) bool { return seen.UID == pod.UID })
}

// isNext says whether a pod is of the template. Pods from before there were hashes have its number.
func (d *daemons) isNext(pod *corev1.Pod) bool {
	return pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == d.hash ||
		d.generation != "" && pod.Labels[extensionsv1beta1.DaemonSetTemplateGenerationKey] == d.generation
}

// generationOf is the number of the set's template, as its annotation has it; "" for none.
func generationOf(set *appsv1.DaemonSet) string {
	number, err := strconv.ParseInt(set.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return ""
	}
	return strconv.FormatInt(number, 10)
}

// nodesWithPods are the names of nodes that have pods, sorted, those that there are no more too.
func (d *daemons) nodesWithPods() []string { return slices.Sorted(maps.Keys(d.on)) }
