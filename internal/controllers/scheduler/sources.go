package scheduler

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

func newCluster(informers *informer.Factory) *cluster {
	c := &cluster{
		nodes:      informer.For[*corev1.Node](informers, nodesResource),
		pods:       informer.For[*corev1.Pod](informers, pods.Resource),
		namespaces: informer.For[*corev1.Namespace](informers, namespacesResource),
		byName:     map[string]*Node{}, changed: map[string]bool{}, placed: map[informer.Key]placement{},
		nominated: map[informer.Key]string{}, reserved: map[informer.Key]reservation{},
		reservedOn: map[string]map[informer.Key]bool{},
		waiting:    map[informer.Key]*waitingPod{}, pending: pendingPods{},
	}
	c.pods.Indexer().AddIndex(byNode, informer.ByNodeName)
	c.pods.Indexer().AddIndex(byNomination, nominatedNode)
	return c
}

// podMatters selects the pod events that change the room on a node or the affinity of other pods.
func podMatters(old, now *corev1.Pod) bool {
	if old == nil || now == nil {
		return true
	}
	return old.UID != now.UID || old.Spec.NodeName != now.Spec.NodeName ||
		old.Status.NominatedNodeName != now.Status.NominatedNodeName ||
		pods.IsTerminal(old) != pods.IsTerminal(now) ||
		now.Spec.NodeName == "" && marked(old, now) || // it releases the room that was reserved for it
		!maps.Equal(old.Labels, now.Labels)
}

// startsToLeave selects the events that mark a bound pod as deleted. It keeps its room until it is removed.
func startsToLeave(old, now *corev1.Pod) bool {
	return old != nil && now != nil && marked(old, now)
}

// marked reports whether a change sets a pod's deletion time.
func marked(old, now *corev1.Pod) bool {
	return old.DeletionTimestamp == nil && now.DeletionTimestamp != nil
}

// nodeMatters selects the node events after which the node may fit other pods.
func nodeMatters(old, now *corev1.Node) bool {
	if old == nil || now == nil {
		return true
	}
	return old.UID != now.UID || old.Spec.Unschedulable != now.Spec.Unschedulable ||
		!maps.Equal(old.Labels, now.Labels) ||
		!equality.Semantic.DeepEqual(old.Spec.Taints, now.Spec.Taints) ||
		!equality.Semantic.DeepEqual(old.Status.Allocatable, now.Status.Allocatable)
}

// onPodChange returns the waiting pods that may fit after a change of another pod.
func (s *scheduler) onPodChange(pod *corev1.Pod) []controller.Request {
	return s.dueRequests(s.podChanged(pod, time.Now()))
}

// onMark has the pod's node computed again. No waiting pod can fit because of it.
func (s *scheduler) onMark(pod *corev1.Pod) []controller.Request {
	s.podMarked(pod)
	return nil
}

// onNodeChange returns the waiting pods that may fit after a change of a node.
func (s *scheduler) onNodeChange(node *corev1.Node) []controller.Request {
	return s.dueRequests(s.nodeChanged(node, time.Now()))
}

// onNamespaceChange returns the waiting pods that may fit after a change of a namespace's labels.
func (s *scheduler) onNamespaceChange(*corev1.Namespace) []controller.Request {
	return s.dueRequests(s.namespaceChanged(time.Now()))
}

// dueRequests returns the requests that are due, and schedules the others for the end of their backoff.
func (s *scheduler) dueRequests(all []retry) (requests []controller.Request) {
	for _, w := range all {
		if w.after <= 0 {
			requests = append(requests, w.Request)
		} else {
			s.wake.AddAfter(w.Request, w.after)
		}
	}
	return requests
}

// allBudgets returns the budgets of all namespaces.
func (s *scheduler) allBudgets() []*policyv1.PodDisruptionBudget { return s.budgets.Indexer().List() }
