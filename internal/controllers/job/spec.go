package job

import (
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/client"
)

// jobSpec is the spec of a job, with the rules by which it judges pods.
type jobSpec struct{ *batchv1.JobSpec }

// failed reports whether a pod counts as failed. A pod that is deleted before it ends counts as well, unless
// the job waits for pods to end.
func (s jobSpec) failed(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodFailed {
		return true
	}
	return !s.replacesOnlyEnded() && pod.DeletionTimestamp != nil && pod.Status.Phase != corev1.PodSucceeded
}

// replacesOnlyEnded reports whether a pod is replaced only after it has ended, not already when it is being
// deleted.
func (s jobSpec) replacesOnlyEnded() bool {
	return s.PodFailurePolicy != nil || ptr.Deref(s.PodReplacementPolicy, "") == batchv1.Failed
}

func (s jobSpec) indexed() bool {
	return ptr.Deref(s.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

func (s jobSpec) suspended() bool { return ptr.Deref(s.Suspend, false) }

func (s jobSpec) completions() int { return int(ptr.Deref(s.Completions, 0)) }

// inRange reports whether a pod's index is valid for the job; always true unless the job is indexed.
func (s jobSpec) inRange(pod *corev1.Pod) bool {
	return !s.indexed() || index(pod) != noIndex && index(pod) < s.completions()
}

// failsIndex reports whether a failed pod fails its index permanently, by the number of failures or by the policy.
func (s jobSpec) failsIndex(pod *corev1.Pod) bool {
	if !s.failed(pod) {
		return false
	}
	v := judge(s.PodFailurePolicy, pod)
	return v.action == batchv1.PodFailurePolicyActionFailIndex || v.counts() &&
		failuresOf(pod) >= int(*s.BackoffLimitPerIndex)
}

// isTracked reports whether a pod has the tracking finalizer, and so waits to be counted.
func isTracked(pod client.Object) bool {
	return slices.Contains(pod.GetFinalizers(), batchv1.JobTrackingFinalizer)
}

// noIndex is the index of a pod without one.
const noIndex = -1

// index returns the completion index of a pod.
func index(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil || n < 0 {
		return noIndex
	}
	return n
}
