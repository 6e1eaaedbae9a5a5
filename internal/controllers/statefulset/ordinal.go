package statefulset

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// parse takes the name of an ordinal's pod apart.
func parse(name string) (set string, ordinal int, ok bool) {
	at := strings.LastIndexByte(name, '-')
	if at < 0 {
		return "", 0, false
	}
	number := name[at+1:]
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != number {
		return "", 0, false
	}
	return name[:at], int(n), true
}

// ordinalOf is the ordinal that a pod has by its name in a set, or false if it has none there.
func ordinalOf(set *appsv1.StatefulSet, pod *corev1.Pod) (int, bool) {
	parent, ordinal, ok := parse(pod.Name)
	return ordinal, ok && parent == set.Name
}

// podName is what the pod of an ordinal is called.
func podName(set *appsv1.StatefulSet, ordinal int) string {
	return fmt.Sprintf("%s-%d", set.Name, ordinal)
}

// first is the lowest ordinal that a set has, after it come all others.
func first(set *appsv1.StatefulSet) int {
	if set.Spec.Ordinals == nil {
		return 0
	}
	return int(set.Spec.Ordinals.Start)
}

// newPod is the pod of an ordinal, of a template and the revision that has it.
func newPod(set *appsv1.StatefulSet, template *corev1.PodTemplateSpec, revision string, ordinal int) *corev1.Pod {
	pod := pods.New(template, set, kind, podName(set, ordinal))
	pod.Labels = identity(pod, ordinal)
	pod.Labels[appsv1.StatefulSetRevisionLabel] = revision
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, set.Spec.ServiceName
	pod.Spec.Volumes = volumes(set, pod.Spec.Volumes, ordinal)
	return pod
}

// identity are a pod's labels with those that say which of its set it is.
func identity(pod *corev1.Pod, ordinal int) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, pod.Labels)
	labels[appsv1.StatefulSetPodNameLabel] = pod.Name
	labels[appsv1.PodIndexLabel] = strconv.Itoa(ordinal)
	return labels
}

// volumes are those of a pod with the claims of its ordinal, which come before others of their names.
func volumes(set *appsv1.StatefulSet, others []corev1.Volume, ordinal int) (all []corev1.Volume) {
	claimed := map[string]bool{}
	for _, template := range claimTemplates(set) {
		claimed[template.Name] = true
		source := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(set, template, ordinal)}
		all = append(all, corev1.Volume{Name: template.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: source}})
	}
	for _, volume := range others {
		if !claimed[volume.Name] {
			all = append(all, volume)
		}
	}
	return all
}

// isWhole says whether a pod says which of its set it is, and has the claims of its ordinal.
func isWhole(set *appsv1.StatefulSet, pod *corev1.Pod, ordinal int) bool {
	if pod.Labels[appsv1.StatefulSetPodNameLabel] != pod.Name {
		return false
	}
	has := map[string]string{}
	for _, volume := range pod.Spec.Volumes {
		if claim := volume.PersistentVolumeClaim; claim != nil {
			has[volume.Name] = claim.ClaimName
		}
	}
	for _, template := range claimTemplates(set) {
		if has[template.Name] != claimName(set, template, ordinal) {
			return false
		}
	}
	return true
}

// revisionOf is the name of the revision that a pod is of.
func revisionOf(pod *corev1.Pod) string { return pod.Labels[appsv1.StatefulSetRevisionLabel] }
