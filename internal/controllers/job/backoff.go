package job

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/controller"
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

// Past is what has come of a job's pods since one has last succeeded, also of those that are gone by now. It is an economy: a
// process that begins anew knows of those alone that are there.
type Past struct {
	// Succeeded is when a pod has last succeeded; zero for never.
	Succeeded time.Time
	// Failed is when pods have failed since then: so many of them at most that more would change nothing.
	Failed map[types.UID]time.Time
}

// mostFailures is how many failures the longest pause comes after, and some more.
const mostFailures = 10

// past is Past with the pods that are there now.
func (d *Decision) past() Past {
	p := Past{Succeeded: d.Past.Succeeded, Failed: map[types.UID]time.Time{}}
	maps.Copy(p.Failed, d.Past.Failed)
	for _, pod := range d.pods {
		switch {
		case pod.Status.Phase == corev1.PodSucceeded:
			p.Succeeded = later(p.Succeeded, endedAt(pod))
		case d.failed(pod) && (isTracked(pod) || pod.DeletionTimestamp == nil): // the others were deleted by the job
			p.Failed[pod.UID] = endedAt(pod)
		}
	}
	maps.DeleteFunc(p.Failed, func(_ types.UID, at time.Time) bool { return at.Before(p.Succeeded) })
	for _, uid := range p.oldest(len(p.Failed) - mostFailures) {
		delete(p.Failed, uid)
	}
	return p
}

// oldest are the first failures, so many at most.
func (p Past) oldest(count int) []types.UID {
	if count <= 0 {
		return nil
	}
	return slices.SortedFunc(maps.Keys(p.Failed), func(a, b types.UID) int {
		return cmp.Or(p.Failed[a].Compare(p.Failed[b]), cmp.Compare(a, b))
	})[:count]
}

// backoff is how long to wait before a pod takes the place of those that have failed since one has last succeeded.
func (d *Decision) backoff() time.Duration {
	p := d.past()
	var last time.Time
	for _, at := range p.Failed {
		last = later(last, at)
	}
	return pause(len(p.Failed), last, d.Now)
}

// pasts are those of jobs that go on, by their names.
type pasts struct {
	mu sync.Mutex
	of map[controller.Request]known
}

// known is the past of the job with a uid.
type known struct {
	uid types.UID
	Past
}

func (p *pasts) get(request controller.Request, job types.UID) Past {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := p.of[request]; k.uid == job {
		return k.Past
	}
	return Past{}
}

// set remembers the past of a job; nobody changes it any more.
func (p *pasts) set(request controller.Request, job types.UID, past Past) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if past.Succeeded.IsZero() && len(past.Failed) == 0 {
		delete(p.of, request)
		return
	}
	if p.of == nil {
		p.of = map[controller.Request]known{}
	}
	p.of[request] = known{job, past}
}

// forget is for a job that has ended or is gone.
func (p *pasts) forget(request controller.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, request)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// endedAt is when a pod has ended: when its last container did, or since when it is not ready, or was asked to go. A pod that
// says none of it has ended when it began.
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
