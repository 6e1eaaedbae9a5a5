package job

import (
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// After a pod has failed the next one is made firstPause later, after the second failure in a row twice that, and so on.
const (
	firstPause   = 10 * time.Second
	longestPause = 10 * time.Minute
)

// pause is how long to wait after so many failures in a row, of which the last was then.
func pause(failures int, last, now time.Time) time.Duration {
	if failures == 0 {
		return 0
	}
	wait := firstPause
	for range failures - 1 {
		if wait = min(2*wait, longestPause); wait == longestPause {
			break
		}
	}
	return max(0, wait-now.Sub(last))
}

// backoff is how long to wait before a pod takes the place of those that have failed since one has last succeeded. It follows from
// the pods that are still there, so that a controller that has only just begun waits as long, and from those that Lost has.
func (d *Decision) backoff() time.Duration {
	var success, last time.Time
	for _, pod := range d.pods {
		if pod.Status.Phase == corev1.PodSucceeded {
			success = later(success, endedAt(pod))
		}
	}
	failures := 0
	fail := func(at time.Time) {
		if !at.Before(success) {
			failures++
			last = later(last, at)
		}
	}
	for _, pod := range d.pods {
		if _, counted := d.Lost[pod.UID]; !counted && (pod.Status.Phase == corev1.PodFailed || d.failed(pod) && isTracked(pod)) {
			fail(endedAt(pod))
		}
	}
	for _, at := range d.Lost {
		fail(at)
	}
	return pause(failures, last, d.Now)
}

// losses remembers when pods have failed that go when they are released, since they were deleted. Nothing else does, and jobs whose
// pods are deleted again and again would make the next one at once. It is an economy: a process that begins anew knows of none.
type losses struct {
	mu  sync.Mutex
	ofs map[types.UID]map[types.UID]time.Time // by job and pod
}

// of are those of a job.
func (l *losses) of(job types.UID) map[types.UID]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.ofs[job])
}

// note remembers the pods of a decision.
func (l *losses) note(d *Decision) {
	for _, pod := range d.pods {
		if pod.DeletionTimestamp == nil || !isTracked(pod) || !d.failed(pod) {
			continue
		}
		l.mu.Lock()
		if l.ofs == nil {
			l.ofs = map[types.UID]map[types.UID]time.Time{}
		}
		if l.ofs[d.Job.UID] == nil {
			l.ofs[d.Job.UID] = map[types.UID]time.Time{}
		}
		l.ofs[d.Job.UID][pod.UID] = endedAt(pod)
		l.mu.Unlock()
	}
}

// forget forgets those of a job that has ended or is gone.
func (l *losses) forget(job types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.ofs, job)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// endedAt is when a pod has ended: when its last container did, or since when it is not ready, or was asked to go. A pod that says
// none of it has ended when it began.
func endedAt(pod *corev1.Pod) time.Time {
	if at, ok := lastContainer(pod); ok {
		return at
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	if pod.DeletionTimestamp != nil {
		grace := time.Duration(0)
		if s := pod.DeletionGracePeriodSeconds; s != nil {
			grace = time.Duration(*s) * time.Second
		}
		return pod.DeletionTimestamp.Add(-grace)
	}
	return pod.CreationTimestamp.Time
}

// lastContainer is when the last container of a pod has ended, if all have, with those that run beside them.
func lastContainer(pod *corev1.Pod) (at time.Time, ok bool) {
	beside := map[string]bool{}
	for _, c := range pod.Spec.InitContainers {
		beside[c.Name] = c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	}
	statuses := pod.Status.ContainerStatuses
	for _, c := range pod.Status.InitContainerStatuses {
		if beside[c.Name] {
			statuses = append(statuses[:len(statuses):len(statuses)], c)
		}
	}
	for _, c := range statuses {
		if c.State.Terminated == nil || c.State.Terminated.FinishedAt.IsZero() {
			return time.Time{}, false
		}
		at = later(at, c.State.Terminated.FinishedAt.Time)
	}
	return at, len(statuses) > 0
}
