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
func (d *Decision) classifyIndexes() {
	n := d.completions()
	d.before = parseIndexes(d.status.CompletedIndexes, n)
	var done []int
	for _, pod := range d.pods {
		if pod.Status.Phase == corev1.PodSucceeded && d.inRange(pod) && isTracked(pod) {
			done = append(done, index(pod))
		}
	}
	d.done = union(d.before, indexSet(done...))
	d.succeeded = d.done.count()
	if d.spec.BackoffLimitPerIndex == nil {
		return
	}
	var lost []int
	for _, pod := range d.pods {
		if d.inRange(pod) && isTracked(pod) && d.isLost(pod) {
			lost = append(lost, index(pod))
		}
	}
	d.lost = indexSet(lost...)
	if d.status.FailedIndexes != nil {
		d.lost = union(d.lost, parseIndexes(*d.status.FailedIndexes, n))
	}
	d.delay()
}

// isLost reports whether a failed pod fails its index for good, by the number of failures or by the policy.
func (d *Decision) isLost(pod *corev1.Pod) bool {
	if !d.failed(pod) {
		return false
	}
	v := judge(d.spec.PodFailurePolicy, pod)
	return v.action == batchv1.PodFailurePolicyActionFailIndex || v.counts() &&
		failuresOf(pod) >= int(*d.spec.BackoffLimitPerIndex)
}

// delay finds the last failed pod of each index. The pod is retained until its successor records the failure
// count.
func (d *Decision) delay() {
	d.delayed = map[int]*corev1.Pod{}
	active := indexSet(indexesOf(d.active)...)
	for _, pod := range d.pods {
		i := index(pod)
		if !isTracked(pod) || !d.inRange(pod) || !d.failed(pod) || d.done.has(i) || d.lost.has(i) || active.has(i) {
			continue
		}
		last := d.delayed[i]
		if last == nil || allFailuresOf(last) <= allFailuresOf(pod) && !endedAt(pod).Before(endedAt(last)) {
			d.delayed[i] = pod
		}
	}
}

// dueIndexes returns the indexes of list whose next pod may be created now or, if there are none, how long
// until one may.
func (d *Decision) dueIndexes(list []int) (due []int, wait time.Duration) {
	for _, i := range list {
		last := d.delayed[i]
		left := time.Duration(0)
		if last != nil {
			left = remainingDelay(allFailuresOf(last)+1, endedAt(last), d.Now)
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

// noteFailures annotates a new pod with the failure count of its index, derived from its predecessor.
func (d *Decision) noteFailures(pod *corev1.Pod, last *corev1.Pod) {
	counted, ignored := 0, 0
	if last != nil {
		counted, ignored = failuresOf(last), ignoredOf(last)
		if judge(d.spec.PodFailurePolicy, last).counts() {
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
func (d *Decision) splitDuplicates() (surplus, left []*corev1.Pod) {
	byIndex := map[int][]*corev1.Pod{}
	for _, pod := range d.active {
		if !d.inRange(pod) {
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
