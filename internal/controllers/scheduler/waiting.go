package scheduler

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// wait is a pod that no node took.
type wait struct {
	pod      *Pod
	cause    cause
	promised bool // others are leaving for it
	called   bool // something has come that it waits for
	attempts int
	since    time.Time
}

// How long a pod that no node took waits before it is looked at again, although something has changed: doubled each time.
const (
	firstPause = time.Second
	maxPause   = 10 * time.Second
)

// pause is how long the pod has still to wait when something has changed.
func (w *wait) pause(now time.Time) time.Duration {
	pause := firstPause << min(w.attempts-1, 4)
	return max(0, w.since.Add(min(pause, maxPause)).Sub(now))
}

// wait has a pod wait, from now on. The lock is held.
func (c *cluster) wait(p *Pod, d Decision, now time.Time) {
	key := informer.KeyOf(p.Pod)
	w := c.waiting[key]
	if w == nil || w.pod.UID != p.UID {
		w = &wait{}
		c.waiting[key] = w
	}
	w.pod, w.cause, w.promised, w.called, w.since = p, d.waits, d.Promise != "" || d.Keep, false, now
	w.attempts++
}

// woken is a pod that waits, and for which something may be better in so long.
type woken struct {
	controller.Request
	pod   *corev1.Pod
	pause time.Duration
}

// awake are the pods that wait for what has come, in the order in which they ask.
func (c *cluster) awake(now time.Time, come func(*wait) bool) (all []woken) {
	for key, w := range c.waiting {
		if come(w) {
			all = append(all, woken{key, w.pod.Pod, w.pause(now)})
			w.called = true
		}
	}
	slices.SortFunc(all, func(a, b woken) int { return beforeOther(a.pod, b.pod) })
	return all
}

// podChanged are the pods that may find room because of another one.
func (c *cluster) podChanged(pod *corev1.Pod, now time.Time) []woken {
	c.mu.Lock()
	defer c.mu.Unlock()
	on := c.touch(pod)
	if now, there := c.pods.Indexer().Get(informer.KeyOf(pod)); there && now.UID == pod.UID && pending(now) {
		c.asking.add(now)
	} else { // what was told last of one that has gone may be that it asked
		c.asking.remove(pod)
	}
	if len(on) == 0 || len(c.waiting) == 0 {
		return nil
	}
	c.sync()
	changed := NewPod(pod)
	return c.awake(now, func(w *wait) bool {
		room := w.cause&forRoom != 0 && slices.ContainsFunc(on, func(name string) bool { return c.takes(name, w) })
		return w.pod.UID != pod.UID && (room || w.cause&forPods != 0 && w.pod.minds(changed, c.labelsOf))
	})
}

// nodeChanged are the pods that may find room because of a node.
func (c *cluster) nodeChanged(node *corev1.Node, now time.Time) []woken {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed[node.Name] = true
	if len(c.waiting) == 0 {
		return nil
	}
	c.sync()
	return c.awake(now, func(w *wait) bool {
		return c.takes(node.Name, w) || w.cause&forPods != 0 && len(w.pod.even) > 0
	})
}

// namespaceChanged are the pods that may find room because a namespace has other labels.
func (c *cluster) namespaceChanged(now time.Time) []woken {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.awake(now, func(w *wait) bool { return w.cause&forPods != 0 })
}

// takes says whether a node, by itself, takes a pod that waits, or would if less important ones left.
func (c *cluster) takes(name string, w *wait) bool {
	n := c.byName[name]
	if n == nil {
		return false
	}
	r := n.refuses(w.pod)
	return r == nil || !r.final && n.lowest < w.pod.priority && !w.pod.neverPreempts() && !w.promised
}

// minds says whether it matters to a pod that another one comes, goes, or is labelled otherwise.
func (p *Pod) minds(q *Pod, namespaces NamespaceLabels) bool {
	for _, terms := range [][]term{p.with, p.without} {
		for i := range terms {
			if terms[i].means(q, namespaces) {
				return true
			}
		}
	}
	for i := range q.without {
		if q.without[i].means(p, namespaces) {
			return true
		}
	}
	for i := range p.even {
		if q.Namespace == p.Namespace && p.even[i].pods.Matches(labels.Set(q.Labels)) {
			return true
		}
	}
	return false
}
