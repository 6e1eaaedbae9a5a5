package scheduler

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

func newCluster(informers *informer.Factory) *cluster {
	c := &cluster{
		nodes:      informer.For[*corev1.Node](informers, nodesResource),
		pods:       informer.For[*corev1.Pod](informers, pods.Resource),
		namespaces: informer.For[*corev1.Namespace](informers, namespacesResource),
		byName:     map[string]*Node{}, changed: map[string]bool{}, placed: map[informer.Key]placement{},
		promised: map[informer.Key]string{}, given: map[informer.Key]gift{}, givenOn: map[string]map[informer.Key]bool{},
		waiting: map[informer.Key]*wait{}, asking: asking{},
	}
	c.pods.Indexer().AddIndex(byNode, informer.ByNodeName)
	c.pods.Indexer().AddIndex(byPromise, promisedNode)
	return c
}

// matters passes the changes of a pod after which its node has other room, or other pods have other neighbours.
func matters(old, now *corev1.Pod) bool {
	if old == nil || now == nil {
		return true
	}
	return old.UID != now.UID || old.Spec.NodeName != now.Spec.NodeName || old.Status.NominatedNodeName != now.Status.NominatedNodeName ||
		pods.HasEnded(old) != pods.HasEnded(now) || (old.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) ||
		!maps.Equal(old.Labels, now.Labels)
}

// nodeMatters passes the changes of a node after which it may take other pods.
func nodeMatters(old, now *corev1.Node) bool {
	if old == nil || now == nil {
		return true
	}
	return old.UID != now.UID || old.Spec.Unschedulable != now.Spec.Unschedulable || !maps.Equal(old.Labels, now.Labels) ||
		!equality.Semantic.DeepEqual(old.Spec.Taints, now.Spec.Taints) ||
		!equality.Semantic.DeepEqual(old.Status.Allocatable, now.Status.Allocatable)
}

// podTouched has the pods looked at that may find room because of another one.
func (s *scheduler) podTouched(pod *corev1.Pod) []controller.Request {
	return s.now(s.podChanged(pod, time.Now()))
}

// nodeTouched has the pods looked at that may find room because of a node.
func (s *scheduler) nodeTouched(node *corev1.Node) []controller.Request {
	return s.now(s.nodeChanged(node, time.Now()))
}

// namespaceTouched has the pods looked at that may find room because a namespace has other labels.
func (s *scheduler) namespaceTouched(*corev1.Namespace) []controller.Request {
	return s.now(s.namespaceChanged(time.Now()))
}

// now are those to look at at once. The others are, when their pause is over.
func (s *scheduler) now(all []woken) (requests []controller.Request) {
	for _, w := range all {
		if w.pause <= 0 {
			requests = append(requests, w.Request)
		} else {
			s.wake.AddAfter(w.Request, w.pause)
		}
	}
	return requests
}

// allBudgets are the budgets of all namespaces.
func (s *scheduler) allBudgets() []*policyv1.PodDisruptionBudget { return s.budgets.Indexer().List() }
