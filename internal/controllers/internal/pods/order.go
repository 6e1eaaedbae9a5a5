package pods

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// SortForDeletion sorts pods in the order in which Kubernetes' controllers delete surplus pods: by least
// progress, lowest deletion cost, highest number of related pods on the same node, latest readiness, most
// restarts, and latest creation. related are all pods that do the same work, including the pods of a
// Deployment's other ReplicaSets.
func SortForDeletion(pods, related []*corev1.Pod, now time.Time) {
	onNode := map[string]int{}
	for _, pod := range related {
		if IsActive(pod) {
			onNode[pod.Spec.NodeName]++
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(
			falseFirst(a.Spec.NodeName != "", b.Spec.NodeName != ""),
			cmp.Compare(phaseRank(a), phaseRank(b)),
			falseFirst(IsReady(a), IsReady(b)),
			cmp.Compare(deletionCost(a), deletionCost(b)),
			-cmp.Compare(onNode[a.Spec.NodeName], onNode[b.Spec.NodeName]),
			newestFirst(readySince(a), readySince(b), now),
			-cmp.Compare(restarts(a), restarts(b)),
			newestFirst(a.CreationTimestamp.Time, b.CreationTimestamp.Time, now),
			cmp.Compare(a.Name, b.Name),
		)
	})
}

// SortByProgress sorts pods in the order in which Kubernetes deletes the pods of Jobs, to lose as little work
// as possible: by least progress, then by the highest restart count, then the newest first.
func SortByProgress(pods []*corev1.Pod) {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(
			falseFirst(a.Spec.NodeName != "", b.Spec.NodeName != ""),
			cmp.Compare(phaseRank(a), phaseRank(b)),
			falseFirst(IsReady(a), IsReady(b)),
			latestFirst(readySince(a), readySince(b)),
			-cmp.Compare(restarts(a), restarts(b)),
			latestFirst(a.CreationTimestamp.Time, b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
}

// latestFirst compares times. An unknown time counts as the latest.
func latestFirst(a, b time.Time) int {
	if a.IsZero() || b.IsZero() {
		return falseFirst(!a.IsZero(), !b.IsZero())
	}
	return b.Compare(a)
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func phaseRank(pod *corev1.Pod) int {
	switch pod.Status.Phase {
	case corev1.PodRunning:
		return 2
	case corev1.PodUnknown:
		return 1
	default:
		return 0
	}
}

// deletionCost returns the pod's deletion cost annotation, or 0 if it is not a number.
func deletionCost(pod *corev1.Pod) int {
	cost, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int(cost)
}

// newestFirst compares ages on a logarithmic scale, so that pods of about the same age compare equal:
// otherwise the pods that a rollout created last, possibly all in one zone, would always be deleted first. An
// unknown time counts as the newest.
func newestFirst(a, b time.Time, now time.Time) int {
	return cmp.Compare(ageRank(a, now), ageRank(b, now))
}

func ageRank(since, now time.Time) float64 {
	age := now.Sub(since)
	if since.IsZero() || age <= 0 {
		return -1
	}
	return math.Floor(math.Log2(float64(age)))
}

func readySince(pod *corev1.Pod) time.Time {
	if c := readyCondition(pod); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// restarts returns the highest restart count of a pod's containers.
func restarts(pod *corev1.Pod) (most int32) {
	for _, c := range pod.Status.ContainerStatuses {
		most = max(most, c.RestartCount)
	}
	return most
}
