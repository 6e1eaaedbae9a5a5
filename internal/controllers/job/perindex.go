package job

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// classifyIndexes determines which indexes are completed and, with a per-index backoff limit, which have failed.
func (t *tally) classifyIndexes(status *batchv1.JobStatus) {
	n := t.spec.completions()
	t.completedInStatus = parseIndexes(status.CompletedIndexes, n)
	var completed []int
	for _, pod := range t.pods {
		if pod.Status.Phase == corev1.PodSucceeded && t.spec.inRange(pod) && isTracked(pod) {
			completed = append(completed, index(pod))
		}
	}
	t.completed = union(t.completedInStatus, indexSet(completed...))
	t.succeeded = t.completed.count()
	if t.spec.BackoffLimitPerIndex == nil {
		return
	}
	var failed []int
	for _, pod := range t.pods {
		if t.spec.inRange(pod) && isTracked(pod) && t.spec.failsIndex(pod) {
			failed = append(failed, index(pod))
		}
	}
	t.failed = indexSet(failed...)
	if status.FailedIndexes != nil {
		t.failed = union(t.failed, parseIndexes(*status.FailedIndexes, n))
	}
	t.findDelayed()
}

// findDelayed finds the last failed pod of each index. The pod is retained until its successor records the failure
// count.
func (t *tally) findDelayed() {
	t.delayed = map[int]*corev1.Pod{}
	active := indexSet(indexesOf(t.active)...)
	for _, pod := range t.pods {
		i := index(pod)
		if !isTracked(pod) || !t.spec.inRange(pod) || !t.spec.failed(pod) || t.completed.has(i) || t.failed.has(i) ||
			active.has(i) {
			continue
		}
		last := t.delayed[i]
		if last == nil || allFailuresOf(last) <= allFailuresOf(pod) && !endedAt(pod).Before(endedAt(last)) {
			t.delayed[i] = pod
		}
	}
}

// dueIndexes returns the indexes of list whose next pod may be created now or, if there are none, how long
// until one may.
func (t *tally) dueIndexes(list []int, now time.Time) (due []int, wait time.Duration) {
	for _, i := range list {
		last := t.delayed[i]
		remaining := time.Duration(0)
		if last != nil {
			remaining = remainingDelay(allFailuresOf(last)+1, endedAt(last), now)
		}
		switch {
		case remaining == 0:
			due = append(due, i)
		case wait == 0 || remaining < wait:
			wait = remaining
		}
	}
	if len(due) > 0 {
		wait = 0
	}
	return due, wait
}

// annotateFailures annotates a new pod with the failure count of its index, derived from its predecessor
// last, which is nil for the first pod.
func annotateFailures(policy *batchv1.PodFailurePolicy, pod, last *corev1.Pod) {
	counted, ignored := 0, 0
	if last != nil {
		counted, ignored = failuresOf(last), ignoredFailuresOf(last)
		if judge(policy, last).counts() {
			counted++
		} else {
			ignored++
		}
	}
	pod.Annotations[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(counted)
	if ignored > 0 {
		pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = strconv.Itoa(ignored)
	}
}

// failuresOf returns how many previous pods of the same index failed and were counted; ignoredFailuresOf returns how
// many the policy ignored.
func failuresOf(pod *corev1.Pod) int { return number(pod, batchv1.JobIndexFailureCountAnnotation) }
func ignoredFailuresOf(pod *corev1.Pod) int {
	return number(pod, batchv1.JobIndexIgnoredFailureCountAnnotation)
}
func allFailuresOf(pod *corev1.Pod) int { return failuresOf(pod) + ignoredFailuresOf(pod) }

// number returns the number in an annotation, and 0 if it is invalid.
func number(pod *corev1.Pod, annotation string) int {
	n, err := strconv.Atoi(pod.Annotations[annotation])
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return n
}

func indexesOf(list []*corev1.Pod) (all []int) {
	for _, pod := range list {
		if i := index(pod); i != noIndex {
			all = append(all, i)
		}
	}
	return all
}

// splitDuplicates splits the active pods into surplus ones, whose index is missing, out of range or a duplicate, and
// the others.
func (t *tally) splitDuplicates() (surplus, unique []*corev1.Pod) {
	byIndex := map[int][]*corev1.Pod{}
	for _, pod := range t.active {
		if !t.spec.inRange(pod) {
			surplus = append(surplus, pod)
			continue
		}
		byIndex[index(pod)] = append(byIndex[index(pod)], pod)
	}
	for _, i := range slices.Sorted(maps.Keys(byIndex)) {
		same := byIndex[i]
		pods.SortByProgress(same)
		surplus = append(surplus, same[:len(same)-1]...)
		unique = append(unique, same[len(same)-1])
	}
	return surplus, unique
}
