package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// prepareResize restores everything that a write of pods/resize cannot change. It keeps the resources of the pod, and
// the resources and resize policies of its containers, as sent. If the containers are not those of the old pod, it
// restores nothing, so that the validation finds the difference.
func prepareResize(pod, old *corev1.Pod) {
	sent := pod.Spec
	if len(sent.Containers) == len(old.Spec.Containers) && len(sent.InitContainers) == len(old.Spec.InitContainers) {
		restore(pod, old)
		pod.Spec.Resources = sent.Resources
		pod.Spec.Containers = resized(sent.Containers, pod.Spec.Containers)
		pod.Spec.InitContainers = resized(sent.InitContainers, pod.Spec.InitContainers)
	}
	keepPodResources(pod, old)
	defaultPodResources(&pod.Spec)
	countGeneration(pod, old)
}

// resized returns the kept containers with the resources and resize policies that were sent, or the sent containers if
// the names differ. It modifies kept.
func resized(sent, kept []corev1.Container) []corev1.Container {
	for i := range sent {
		if sent[i].Name != kept[i].Name {
			return sent
		}
		kept[i].Resources, kept[i].ResizePolicy = sent[i].Resources, sent[i].ResizePolicy
	}
	return kept
}

// keepPodResources restores the pod-level resources if the pod has none, and reports whether it did: clients whose
// types lack the field drop it.
func keepPodResources(pod, old *corev1.Pod) bool {
	if pod.Spec.Resources != nil || old.Spec.Resources == nil {
		return false
	}
	pod.Spec.Resources = old.Spec.Resources.DeepCopy()
	return true
}

// restore sets the spec of a pod, and the metadata that a write of a subresource cannot change, to copies of the old
// values. The ownership of fields remains as it is.
func restore(pod, old *corev1.Pod) {
	kept := &corev1.Pod{ObjectMeta: old.ObjectMeta, Spec: old.Spec}
	kept.ManagedFields = nil
	kept = kept.DeepCopy()
	metav1.ResetObjectMetaForStatus(&pod.ObjectMeta, &kept.ObjectMeta)
	pod.Spec = kept.Spec
}

// countGeneration increases the generation if the spec changes. The server has already done so, but before the fields
// were restored.
func countGeneration(pod, old *corev1.Pod) {
	pod.Generation = old.Generation
	if !equality.Semantic.DeepEqual(pod.Spec, old.Spec) {
		pod.Generation++
	}
}
