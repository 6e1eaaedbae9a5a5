package scheduler

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// waitingPod is an unschedulable pod.
type waitingPod struct {
	pod        *Pod
	cause      cause
	preempting bool // pods are being preempted for it
	woken      bool // an event that it waits for has occurred
	attempts   int
	since      time.Time
}

// minBackoff is the delay before an unschedulable pod is retried after a relevant change. It doubles with
// each attempt, up to maxBackoff.
const (
	minBackoff = time.Second
	maxBackoff = 10 * time.Second
)

// backoff returns the remaining delay.
func (w *waitingPod) backoff(now time.Time) time.Duration {
	backoff := minBackoff << min(w.attempts-1, 4)
	return max(0, w.since.Add(min(backoff, maxBackoff)).Sub(now))
}

// addWaiting records that a pod waits. The caller holds the lock.
func (c *cluster) addWaiting(p *Pod, d Decision, now time.Time) {
	key := informer.KeyOf(p.Pod)
	w := c.waiting[key]
	if w == nil || w.pod.UID != p.UID {
		w = &waitingPod{}
		c.waiting[key] = w
	}
	w.pod, w.cause, w.preempting, w.woken, w.since = p, d.waitsFor, d.Nominate != "" || d.KeepNomination, false, now
	w.attempts++
}

// retry is a waiting pod to retry after a delay.
type retry struct {
	controller.Request
	pod   *corev1.Pod
	after time.Duration
}

// wake returns the waiting pods that selects reports true for, in processing order.
func (c *cluster) wake(now time.Time, selects func(*waitingPod) bool) (all []retry) {
	for key, w := range c.waiting {
		if selects(w) {
			all = append(all, retry{key, w.pod.Pod, w.backoff(now)})
			w.woken = true
		}
	}
	slices.SortFunc(all, func(a, b retry) int { return compareQueued(a.pod, b.pod) })
	return all
}

// podChanged returns the waiting pods that may fit after a change of another pod.
func (c *cluster) podChanged(pod *corev1.Pod, now time.Time) []retry {
	c.mu.Lock()
	defer c.mu.Unlock()
	on := c.invalidate(pod)
	if now, exists := c.pods.Indexer().Get(informer.KeyOf(pod)); exists && now.UID == pod.UID && pending(now) {
		c.pending.add(now)
	} else { // the last event of a deleted pod may show it as pending
		c.pending.remove(pod)
	}
	if len(on) == 0 || len(c.waiting) == 0 {
		return nil
	}
	c.sync()
	changed := NewPod(pod)
	return c.wake(now, func(w *waitingPod) bool {
		room := w.cause&forRoom != 0 && slices.ContainsFunc(on, func(name string) bool { return c.mayFit(name, w) })
		return w.pod.UID != pod.UID && (room || w.cause&forPods != 0 && w.pod.affectedBy(changed, c.labelsOf))
	})
}

// podMarked has the node of a pod that is marked as deleted computed again.
func (c *cluster) podMarked(pod *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.invalidate(pod)
}

// nodeChanged returns the waiting pods that may fit after a change of a node.
func (c *cluster) nodeChanged(node *corev1.Node, now time.Time) []retry {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed[node.Name] = true
	if len(c.waiting) == 0 {
		return nil
	}
	c.sync()
	return c.wake(now, func(w *waitingPod) bool {
		return c.mayFit(node.Name, w) || w.cause&forPods != 0 && len(w.pod.requiredSpread) > 0
	})
}

// namespaceChanged returns the waiting pods that may fit after a change of a namespace's labels.
func (c *cluster) namespaceChanged(now time.Time) []retry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wake(now, func(w *waitingPod) bool { return w.cause&forPods != 0 })
}

// mayFit reports whether a node by itself fits a waiting pod, possibly after preemption. Room that is being made
// for a pod of the same or a higher priority counts as taken.
func (c *cluster) mayFit(name string, w *waitingPod) bool {
	n := c.byName[name]
	if n == nil {
		return false
	}
	if before := n.nominatedBefore(w.pod); len(before) > 0 {
		n = n.with(before)
	}
	r := n.refuses(w.pod)
	return r == nil || !r.final && n.lowest < w.pod.priority && !w.pod.neverPreempts() && !w.preempting
}

// affectedBy reports whether the creation, deletion or relabeling of q may affect where the pod fits.
func (p *Pod) affectedBy(q *Pod, namespaces NamespaceLabels) bool {
	for _, terms := range [][]term{p.affinity, p.antiAffinity} {
		for i := range terms {
			if terms[i].matches(q, namespaces) {
				return true
			}
		}
	}
	for i := range q.antiAffinity {
		if q.antiAffinity[i].matches(p, namespaces) {
			return true
		}
	}
	for i := range p.requiredSpread {
		if q.Namespace == p.Namespace && p.requiredSpread[i].pods.Matches(labels.Set(q.Labels)) {
			return true
		}
	}
	return false
}
