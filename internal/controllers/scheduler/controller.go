// Package scheduler is the controller that gives pods their nodes. It finds the nodes that take a pod (by what it asks for, its
// selectors, affinities and tolerations, ports, and how it is to be spread), and binds it to the best of them. A pod that none
// takes is told why, has less important ones leave, and is looked at again when something has changed that may help.
//
// It decides as Kubernetes' scheduler with its default profile does, and in its words. It knows nothing of volumes, of the images
// that nodes have, of resource claims, pod groups and extenders; and where a pod does not say how it is to be spread, the pods
// of its controller are, not those of its services. Several that work at a time need an election, as Kubernetes' do: each looks
// at what was bound, and two may give the last room of a node away at once. The node then refuses one of the two, who has
// failed.
//
// decide.go is what it decides, of nothing but what was seen; cluster.go what there is to see. This file reads the cache, carries
// out what was decided, and wakes pods that wait.
package scheduler

import (
	"context"
	"errors"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// Name of the controller, as --controllers takes it.
const Name = "scheduler"

// Component is what the scheduler is called in events, and in spec.schedulerName of the pods that it cares for.
const Component = corev1.DefaultSchedulerName

// workers is how many pods are bound at a time. One decision is made at a time.
const workers = 16

// again is when a pod that no node took is looked at although nothing has changed, in case that something was missed.
const again = 5 * time.Minute

// behind is when a pod is looked at again for which others were to leave a node that the cache does not show as it is.
const behind = time.Second

var (
	nodesResource      = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	namespacesResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	budgetsResource    = schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}
)

// scheduler gives pods nodes.
type scheduler struct {
	*cluster
	budgets *informer.Informer[*policyv1.PodDisruptionBudget]
	wake    controller.Trigger
	hand    *action.Hand
}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	_, c := add(m)
	return c
}

func add(m *controller.Manager) (*scheduler, *controller.Controller) {
	s := &scheduler{
		cluster: newCluster(m.Informers()),
		budgets: informer.For[*policyv1.PodDisruptionBudget](m.Informers(), budgetsResource),
		hand:    action.NewHand(m, Component),
	}
	return s, m.Add(controller.Options{
		Name: Name, Reconciler: s, Workers: workers,
		Sources: []controller.Source{
			controller.Watches(s.pods, s.podTouched, controller.If(matters)),
			controller.Watches(s.nodes, s.nodeTouched, controller.If(nodeMatters)),
			controller.Watches(s.namespaces, s.namespaceTouched, controller.LabelsChanged),
			controller.Watches(s.budgets, func(*policyv1.PodDisruptionBudget) []controller.Request { return nil }),
			controller.For(s.pods, controller.If(asks)),
			&s.wake,
		},
	})
}

// pending says whether a pod is one to find a node for.
func pending(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.Spec.SchedulerName == Component && len(pod.Spec.SchedulingGates) == 0 &&
		pod.DeletionTimestamp == nil && !pods.HasEnded(pod)
}

// asks passes the changes after which a pod is to be looked at: it asks for a node, or for another one, or no more.
func asks(old, now *corev1.Pod) bool {
	switch {
	case old == nil:
		return pending(now)
	case now == nil:
		return pending(old)
	}
	return pending(old) != pending(now) || pending(now) && (old.UID != now.UID || old.Generation != now.Generation ||
		!maps.Equal(old.Labels, now.Labels) || !equality.Semantic.DeepEqual(old.Spec.Tolerations, now.Spec.Tolerations))
}

// Reconcile gives a pod a node, or says why there is none.
func (s *scheduler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	pod, there := s.pods.Indexer().Get(request)
	if !there || !pending(pod) {
		s.forget(request)
		return controller.Result{}, nil
	}
	d := s.choose(pod, s.allBudgets, time.Now())
	if d.Node != "" {
		return s.bind(ctx, pod, d.Node)
	}
	controller.Note(ctx, "%s", d.Message)
	actions, err := d.actions(pod, time.Now())
	if err != nil {
		return controller.Result{}, err
	}
	result, err := s.hand.Do(ctx, append(actions, action.Again{After: again})...)
	if errors.Is(err, action.ErrBehind) {
		controller.Note(ctx, "%v", err)
		return controller.Result{RequeueAfter: behind}, nil
	}
	return result, err
}
