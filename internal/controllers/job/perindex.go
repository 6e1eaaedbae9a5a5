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

// classifyIndexes determines which indexes are done and, with a per-index backoff limit, which are lost.
func (t *tally) classifyIndexes(status *batchv1.JobStatus) {
	n := t.spec.completions()
	t.doneInStatus = parseIndexes(status.CompletedIndexes, n)
	var done []int
	for _, pod := range t.pods {
		if pod.Status.Phase == corev1.PodSucceeded && t.spec.inRange(pod) && isTracked(pod) {
			done = append(done, index(pod))
		}
	}
	t.done = union(t.doneInStatus, indexSet(done...))
	t.succeeded = t.done.count()
	if t.spec.BackoffLimitPerIndex == nil {
		return
	}
	var lost []int
	for _, pod := range t.pods {
		if t.spec.inRange(pod) && isTracked(pod) && t.spec.isLost(pod) {
			lost = append(lost, index(pod))
		}
	}
	t.lost = indexSet(lost...)
	if status.FailedIndexes != nil {
		t.lost = union(t.lost, parseIndexes(*status.FailedIndexes, n))
	}
	t.delay()
}

// delay finds the last failed pod of each index. The pod is retained until its successor records the failure
// count.
func (t *tally) delay() {
	t.delayed = map[int]*corev1.Pod{}
	active := indexSet(indexesOf(t.active)...)
	for _, pod := range t.pods {
		i := index(pod)
		if !isTracked(pod) || !t.spec.inRange(pod) || !t.spec.failed(pod) || t.done.has(i) || t.lost.has(i) ||
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
		left := time.Duration(0)
		if last != nil {
			left = remainingDelay(allFailuresOf(last)+1, endedAt(last), now)
		}
		switch {
		case left == 0:
			due = append(due, i)
		case wait == 0 || left < wait:
			wait = left
		}
	}
	if len(due) > 0 {
		wait = 0
	}
	return due, wait
}

// noteFailures annotates a new pod with the failure count of its index, derived from its predecessor
// last, which is nil for the first pod.
func noteFailures(policy *batchv1.PodFailurePolicy, pod, last *corev1.Pod) {
	counted, ignored := 0, 0
	if last != nil {
		counted, ignored = failuresOf(last), ignoredOf(last)
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

// failuresOf returns how many previous pods of the same index failed and were counted; ignoredOf returns how
// many the policy ignored.
func failuresOf(pod *corev1.Pod) int { return number(pod, batchv1.JobIndexFailureCountAnnotation) }
func ignoredOf(pod *corev1.Pod) int {
	return number(pod, batchv1.JobIndexIgnoredFailureCountAnnotation)
}
func allFailuresOf(pod *corev1.Pod) int { return failuresOf(pod) + ignoredOf(pod) }

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
func (t *tally) splitDuplicates() (surplus, left []*corev1.Pod) {
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
		left = append(left, same[len(same)-1])
	}
	return surplus, left
}
