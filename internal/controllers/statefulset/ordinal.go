package statefulset

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// ordinalBits is the size of an ordinal in bits. The first one and the number of pods have 31 bits each.
const ordinalBits = 32

// parse splits a pod's name into the name of its set and its ordinal.
func parse(name string) (set string, ordinal int, ok bool) {
	at := strings.LastIndexByte(name, '-')
	if at < 0 {
		return "", 0, false
	}
	number := name[at+1:]
	n, err := strconv.ParseUint(number, 10, ordinalBits)
	if err != nil || strconv.FormatUint(n, 10) != number {
		return "", 0, false
	}
	return name[:at], int(n), true
}

// ordinalOf returns the ordinal in the name of a set's pod; ok is false if the name is not one of the set's.
func ordinalOf(set *appsv1.StatefulSet, pod *corev1.Pod) (int, bool) {
	parent, ordinal, ok := parse(pod.Name)
	return ordinal, ok && parent == set.Name
}

// podName returns the name of the pod with an ordinal.
func podName(set *appsv1.StatefulSet, ordinal int) string {
	return fmt.Sprintf("%s-%d", set.Name, ordinal)
}

// firstOrdinal returns the lowest ordinal of a set. The others follow without gaps.
func firstOrdinal(set *appsv1.StatefulSet) int {
	if set.Spec.Ordinals == nil {
		return 0
	}
	return int(set.Spec.Ordinals.Start)
}

// newPod returns the pod with an ordinal, made from the template of a revision.
func newPod(set *appsv1.StatefulSet, template *corev1.PodTemplateSpec, revision string, ordinal int) *corev1.Pod {
	pod := pods.New(template, set, kind, podName(set, ordinal))
	pod.Labels = identity(pod, ordinal)
	pod.Labels[appsv1.StatefulSetRevisionLabel] = revision
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, set.Spec.ServiceName
	pod.Spec.Volumes = volumes(set, pod.Spec.Volumes, ordinal)
	return pod
}

// identity returns a pod's labels with those that hold its name and ordinal.
func identity(pod *corev1.Pod, ordinal int) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, pod.Labels)
	labels[appsv1.StatefulSetPodNameLabel] = pod.Name
	labels[appsv1.PodIndexLabel] = strconv.Itoa(ordinal)
	return labels
}

// volumes returns the volumes for the claims of an ordinal, followed by the other volumes whose names differ
// from these.
func volumes(set *appsv1.StatefulSet, others []corev1.Volume, ordinal int) (all []corev1.Volume) {
	claimed := map[string]bool{}
	for _, template := range claimTemplates(set) {
		claimed[template.Name] = true
		source := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(set, template, ordinal)}
		all = append(all, corev1.Volume{Name: template.Name,
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: source}})
	}
	for _, volume := range others {
		if !claimed[volume.Name] {
			all = append(all, volume)
		}
	}
	return all
}

// hasIdentityAndVolumes reports whether a pod has the label with its name and the volumes for the claims of its
// ordinal.
func hasIdentityAndVolumes(set *appsv1.StatefulSet, pod *corev1.Pod, ordinal int) bool {
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

// revisionOf returns the name of a pod's revision.
func revisionOf(pod *corev1.Pod) string { return pod.Labels[appsv1.StatefulSetRevisionLabel] }
