// Package scheduler implements the controller that binds pods to nodes. It finds the nodes that fit a pod by
// resource requests, selectors, affinities, tolerations, host ports and topology spread, and binds the pod to
// the one with the best score. If no node fits, it records the reason on the pod, preempts pods with a lower
// priority if that helps, and retries when a relevant change occurs.
//
// Decisions and messages are those of kube-scheduler with its default profile, with these exceptions:
// volumes, image locality, resource claims, pod groups and extenders are not supported, and a pod without
// spread constraints is spread among the pods of its controller, not of its services. Several concurrent
// schedulers need leader election, as in Kubernetes: each decides by the bound pods that it observes, so two
// may assign the last room of a node. The node then rejects one of the two pods.
//
// decide.go makes decisions from what was observed, without I/O; cluster.go maintains what was observed. This
// file reads the cache and executes decisions. waiting.go wakes waiting pods.
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
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "scheduler"

// Component is the scheduler's name in events, and in spec.schedulerName of the pods that it binds.
const Component = corev1.DefaultSchedulerName

// workers is the number of pods bound concurrently. Decisions are serialized.
const workers = 16

// retryInterval is the delay before an unschedulable pod is retried without any change, in case one was missed.
const retryInterval = 5 * time.Minute

// staleRetry is the delay before a pod is retried whose preemption was based on a stale cache.
const staleRetry = time.Second

var (
	nodesResource      = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	namespacesResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	budgetsResource    = schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}
)

// scheduler binds pods to nodes.
type scheduler struct {
	*cluster
	budgets  *informer.Informer[*policyv1.PodDisruptionBudget]
	wake     controller.Trigger
	executor *action.Executor
}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	_, c := add(m)
	return c
}

func add(m *controller.Manager) (*scheduler, *controller.Controller) {
	s := &scheduler{
		cluster:  newCluster(m.Informers()),
		budgets:  informer.For[*policyv1.PodDisruptionBudget](m.Informers(), budgetsResource),
		executor: action.NewExecutor(m, Component),
	}
	return s, m.Add(controller.Options{
		Name: Name, Reconciler: s, Workers: workers,
		Sources: []controller.Source{
			controller.Watches(s.pods, s.onPodChange, controller.If(podMatters)),
			controller.Watches(s.pods, s.onMark, controller.If(startsToLeave)),
			controller.Watches(s.nodes, s.onNodeChange, controller.If(nodeMatters)),
			controller.Watches(s.namespaces, s.onNamespaceChange, controller.LabelsChanged),
			controller.Watches(s.budgets, func(*policyv1.PodDisruptionBudget) []controller.Request { return nil }),
			controller.For(s.pods, controller.If(wantsNode)),
			&s.wake,
		},
	})
}

// pending reports whether the scheduler has to find a node for a pod.
func pending(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.Spec.SchedulerName == Component && len(pod.Spec.SchedulingGates) == 0 &&
		pod.DeletionTimestamp == nil && !pods.IsTerminal(pod)
}

// wantsNode selects the pod events that trigger a reconcile: the pod becomes pending, changes what it asks for, or
// is no longer pending.
func wantsNode(old, now *corev1.Pod) bool {
	switch {
	case old == nil:
		return pending(now)
	case now == nil:
		return pending(old)
	}
	return pending(old) != pending(now) || pending(now) && (old.UID != now.UID || old.Generation != now.Generation ||
		!maps.Equal(old.Labels, now.Labels) || !equality.Semantic.DeepEqual(old.Spec.Tolerations, now.Spec.Tolerations))
}

// Reconcile binds a pod to a node, or records why none fits.
func (s *scheduler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	pod, exists := s.pods.Indexer().Get(request)
	if !exists || !pending(pod) {
		s.stopWaiting(request)
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
	result, err := s.executor.Do(ctx, append(actions, action.Requeue{After: retryInterval})...)
	if errors.Is(err, action.ErrStaleCache) {
		controller.Note(ctx, "%v", err)
		return controller.Result{RequeueAfter: staleRetry}, nil
	}
	return result, err
}
