package pods

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// DeletionOrder sorts pods such that those which a controller with too many deletes first come first, as Kubernetes has it:
// what does the least work, then what is cheap to delete by its own word, then what shares its node with the most others, then
// the newest. related are all pods which do the same work, those of other replicasets of a deployment too.
func DeletionOrder(pods, related []*corev1.Pod, now time.Time) {
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

// LeastWork sorts pods such that those come first whose deletion loses the least work, as Kubernetes has it for jobs: those
// that are not as far yet, then those that were restarted most often, then the newest.
func LeastWork(pods []*corev1.Pod) {
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

// latestFirst compares times. One that nobody knows is the latest.
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

// deletionCost is what the pod says that its deletion costs; what is no number costs nothing.
func deletionCost(pod *corev1.Pod) int {
	cost, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int(cost)
}

// newestFirst compares ages on a logarithmic scale, so that of pods which are about equally old none is preferred: else a
// rollout's pods would always be deleted from one zone. A time that nobody knows is the newest.
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
	if c := readiness(pod); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// restarts is how often the container of a pod that was restarted most often was.
func restarts(pod *corev1.Pod) (most int32) {
	for _, c := range pod.Status.ContainerStatuses {
		most = max(most, c.RestartCount)
	}
	return most
}
