package scheduler

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"

	"github.com/bowline-dev/bowline/informer"
)

// pendingPods holds pending pods that have not been processed yet, by priority.
type pendingPods map[int32]map[informer.Key]*corev1.Pod

func priorityOf(pod *corev1.Pod) int32 { return schedulinghelper.PodPriority(pod) }

func (a pendingPods) add(pod *corev1.Pod) {
	priority := priorityOf(pod)
	if a[priority] == nil {
		a[priority] = map[informer.Key]*corev1.Pod{}
	}
	a[priority][informer.KeyOf(pod)] = pod
}

func (a pendingPods) remove(pod *corev1.Pod) {
	priority := priorityOf(pod)
	delete(a[priority], informer.KeyOf(pod))
	if len(a[priority]) == 0 {
		delete(a, priority)
	}
}

// takeAbove removes and returns the pods with a higher priority.
func (a pendingPods) takeAbove(priority int32) (all []*corev1.Pod) {
	for above, pods := range a {
		if above <= priority {
			continue
		}
		for _, pod := range pods {
			all = append(all, pod)
		}
		delete(a, above)
	}
	return all
}

// compareQueued orders pods for processing: by priority, then by age.
func compareQueued(a, b *corev1.Pod) int {
	return cmp.Or(
		-cmp.Compare(priorityOf(a), priorityOf(b)),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
	)
}

// noBudgets returns no budgets, since victims are not chosen yet.
func noBudgets() []*policyv1.PodDisruptionBudget { return nil }

// reserveForHigher reserves room for the pending pods with a higher priority than p, although p is being
// processed first. Their final node is decided when they are processed.
func (c *cluster) reserveForHigher(p *Pod, now time.Time) {
	above := slices.DeleteFunc(c.pending.takeAbove(p.priority), func(pod *corev1.Pod) bool {
		return c.waiting[informer.KeyOf(pod)] != nil // until an event wakes it
	})
	for _, w := range c.waiting {
		if w.woken && w.pod.priority > p.priority && w.backoff(now) == 0 {
			above, w.woken = append(above, w.pod.Pod), false
		}
	}
	slices.SortFunc(above, compareQueued)
	for _, pod := range above {
		key := informer.KeyOf(pod)
		_, isReserved := c.reserved[key]
		if now, exists := c.pods.Indexer().Get(key); isReserved || !exists || now.UID != pod.UID || !pending(now) {
			continue
		}
		q := NewPod(pod)
		if d := c.decide(q, noBudgets); d.Node != "" {
			c.reserve(q, d.Node, false)
		}
	}
}
