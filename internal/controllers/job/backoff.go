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
	"github.com/bowline-dev/bowline/internal/controllers/internal/bounded"
)

// firstDelay is the delay before the pod that follows a first failure. Each further failure in a row doubles
// it, up to maxDelay.
const (
	firstDelay = 10 * time.Second
	maxDelay   = 10 * time.Minute
)

// remainingDelay returns the remaining delay after a number of consecutive failures, the last of them at the given
// time.
func remainingDelay(failures int, last, now time.Time) time.Duration {
	if failures == 0 {
		return 0
	}
	wait := firstDelay
	for range failures - 1 {
		if wait = min(2*wait, maxDelay); wait == maxDelay {
			break
		}
	}
	return bounded.Remaining(wait, last, now)
}

// Outcomes is the outcome of a job's pods since the last success, including pods that have since been deleted. It
// is best effort: after a restart it covers only the pods that still exist.
type Outcomes struct {
	// Succeeded is when a pod last succeeded; zero if none has.
	Succeeded time.Time
	// Failed is when pods failed since then, at most maxFailures of them.
	Failed map[types.UID]time.Time
}

// maxFailures suffices to reach maxDelay.
const maxFailures = 10

// outcomes returns the past outcomes, updated by the pods that exist.
func (t *tally) outcomes(past Outcomes) Outcomes {
	p := Outcomes{Succeeded: past.Succeeded, Failed: map[types.UID]time.Time{}}
	maps.Copy(p.Failed, past.Failed)
	for _, pod := range t.pods {
		switch {
		case pod.Status.Phase == corev1.PodSucceeded:
			p.Succeeded = later(p.Succeeded, endedAt(pod))
		// other deleted pods were deleted by the job
		case t.spec.failed(pod) && (isTracked(pod) || pod.DeletionTimestamp == nil):
			p.Failed[pod.UID] = endedAt(pod)
		}
	}
	maps.DeleteFunc(p.Failed, func(_ types.UID, at time.Time) bool { return at.Before(p.Succeeded) })
	for _, uid := range p.oldest(len(p.Failed) - maxFailures) {
		delete(p.Failed, uid)
	}
	return p
}

// oldest returns the first count failures.
func (p Outcomes) oldest(count int) []types.UID {
	if count <= 0 {
		return nil
	}
	return slices.SortedFunc(maps.Keys(p.Failed), func(a, b types.UID) int {
		return cmp.Or(p.Failed[a].Compare(p.Failed[b]), cmp.Compare(a, b))
	})[:count]
}

// remainingDelay returns the remaining delay before failed pods are replaced.
func (p Outcomes) remainingDelay(now time.Time) time.Duration {
	var last time.Time
	for _, at := range p.Failed {
		last = later(last, at)
	}
	return remainingDelay(len(p.Failed), last, now)
}

// outcomesByJob holds the Outcomes of each running job, by name.
type outcomesByJob struct {
	mu        sync.Mutex
	byRequest map[controller.Request]jobOutcomes
}

// jobOutcomes are the Outcomes of the job with the uid.
type jobOutcomes struct {
	uid types.UID
	Outcomes
}

func (p *outcomesByJob) get(request controller.Request, job types.UID) Outcomes {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := p.byRequest[request]; k.uid == job {
		return k.Outcomes
	}
	return Outcomes{}
}

// set stores the outcomes of a job, which must not be modified afterwards.
func (p *outcomesByJob) set(request controller.Request, job types.UID, past Outcomes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if past.Succeeded.IsZero() && len(past.Failed) == 0 {
		delete(p.byRequest, request)
		return
	}
	if p.byRequest == nil {
		p.byRequest = map[controller.Request]jobOutcomes{}
	}
	p.byRequest[request] = jobOutcomes{job, past}
}

// remove removes the outcomes of a job that has ended or no longer exists.
func (p *outcomesByJob) remove(request controller.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byRequest, request)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// endedAt returns when a pod ended: when its last container terminated, or else when it became unready, or
// else when its deletion was requested. Without any of these it returns the creation time.
func endedAt(pod *corev1.Pod) time.Time {
	if at, ok := lastTermination(pod); ok {
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
			grace = bounded.Seconds(*s)
		}
		return pod.DeletionTimestamp.Add(-grace)
	}
	return pod.CreationTimestamp.Time
}

// lastTermination returns when the last container of a pod, sidecars included, terminated. ok is false if any
// has not.
func lastTermination(pod *corev1.Pod) (at time.Time, ok bool) {
	sidecar := map[string]bool{}
	for _, c := range pod.Spec.InitContainers {
		sidecar[c.Name] = c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	}
	statuses := pod.Status.ContainerStatuses
	for _, c := range pod.Status.InitContainerStatuses {
		if sidecar[c.Name] {
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
