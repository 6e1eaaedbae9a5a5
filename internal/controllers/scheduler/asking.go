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

// asking are pods that ask for a node and were not looked at yet, by priority.
type asking map[int32]map[informer.Key]*corev1.Pod

func priorityOf(pod *corev1.Pod) int32 { return schedulinghelper.PodPriority(pod) }

func (a asking) add(pod *corev1.Pod) {
	priority := priorityOf(pod)
	if a[priority] == nil {
		a[priority] = map[informer.Key]*corev1.Pod{}
	}
	a[priority][informer.KeyOf(pod)] = pod
}

func (a asking) remove(pod *corev1.Pod) {
	priority := priorityOf(pod)
	delete(a[priority], informer.KeyOf(pod))
	if len(a[priority]) == 0 {
		delete(a, priority)
	}
}

// takeAbove takes out the pods that are more important than others.
func (a asking) takeAbove(priority int32) (all []*corev1.Pod) {
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

// beforeOther orders pods as they are to be looked at: by priority, and then by how long they are there.
func beforeOther(a, b *corev1.Pod) int {
	return cmp.Or(
		-cmp.Compare(priorityOf(a), priorityOf(b)),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
	)
}

// noBudgets asks nobody: who would have to leave is not decided yet.
func noBudgets() []*policyv1.PodDisruptionBudget { return nil }

// moreImportant gives room to the pods that go before one, although it was its turn. Where they are in the end is decided when it is
// theirs.
func (c *cluster) moreImportant(p *Pod, now time.Time) {
	above := slices.DeleteFunc(c.asking.takeAbove(p.priority), func(pod *corev1.Pod) bool {
		return c.waiting[informer.KeyOf(pod)] != nil // until it is called
	})
	for _, w := range c.waiting {
		if w.called && w.pod.priority > p.priority && w.pause(now) == 0 {
			above, w.called = append(above, w.pod.Pod), false
		}
	}
	slices.SortFunc(above, beforeOther)
	for _, pod := range above {
		key := informer.KeyOf(pod)
		_, given := c.given[key]
		if now, there := c.pods.Indexer().Get(key); given || !there || now.UID != pod.UID || !pending(now) {
			continue
		}
		q := NewPod(pod)
		if d := c.decide(q, noBudgets); d.Node != "" {
			c.give(q, d.Node, false)
		}
	}
}
