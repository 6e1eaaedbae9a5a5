// Package nodelifecycle is the controller that notices when nodes fall silent. A node whose Lease is not renewed is not known to
// be ready any more; its conditions become taints, which keep new pods away; and pods that do not tolerate them, or have
// done so for long enough, are deleted, so that whoever wants them makes them elsewhere. It is what Kubernetes divides among the
// node-lifecycle and the taint-eviction controllers, but that it does not spare zones in which many nodes fail at once.
//
// decide.go is what should be, of nothing but what was seen. This file reads the cache and writes.
package nodelifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/action"
	"github.com/bowline-dev/bowline/controllers/pods"
	"github.com/bowline-dev/bowline/informer"
)

// Name of the controller, as --controllers takes it.
const Name = "nodelifecycle"

var (
	resource       = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	leasesResource = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

// watcher watches nodes.
type watcher struct {
	nodes  *informer.Informer[*corev1.Node]
	leases *informer.Informer[*coordinationv1.Lease]
	pods   *informer.Informer[*corev1.Pod]
	hand   *action.Hand

	mu    sync.Mutex
	heard map[string]heard // by the node's name
}

// heard is when a node was last heard of, by this process's clock: the node's own may be wrong.
type heard struct {
	uid           types.UID
	renewed, beat time.Time
	at            time.Time
}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	w := &watcher{
		nodes: informer.For[*corev1.Node](m.Informers(), resource),
		leases: informer.For[*coordinationv1.Lease](m.Informers(), leasesResource,
			informer.Scope{Namespace: corev1.NamespaceNodeLease}),
		pods: informer.For[*corev1.Pod](m.Informers(), pods.Resource), hand: action.NewHand(m, "node-controller"), heard: map[string]heard{},
	}
	w.pods.Indexer().AddIndex("node", informer.ByNodeName)
	named := func(lease *coordinationv1.Lease) []controller.Request {
		return []controller.Request{{Name: lease.Name}}
	}
	nodeOf := func(pod *corev1.Pod) []controller.Request { return []controller.Request{{Name: pod.Spec.NodeName}} }
	bound := func(old, now *corev1.Pod) bool {
		return now != nil && now.Spec.NodeName != "" && (old == nil || old.Spec.NodeName != now.Spec.NodeName)
	}
	return m.Add(controller.Options{
		Name: Name, Reconciler: w, Workers: 4,
		Sources: []controller.Source{
			controller.For(w.nodes), controller.Watches(w.leases, named), controller.Watches(w.pods, nodeOf, controller.If(bound)),
		},
	})
}

// Reconcile writes one thing at a time: what it has written wakes it up again.
func (w *watcher) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	node, there := w.nodes.Indexer().Get(request)
	if !there {
		w.forget(request.Name)
		return controller.Result{}, nil
	}
	now := time.Now()
	silence := w.hear(node, now).Add(Grace).Sub(now)
	if silence <= 0 {
		silence = 0
		if conditions, changed := Silent(node, now); changed {
			node = node.DeepCopy()
			node.Status.Conditions = conditions
			return w.hand.Do(ctx, action.Update[*corev1.Node]{In: resource, Object: node, Subresource: "status", Tell: action.Tell{
				About: node, Reason: "NodeNotReady", Message: "Node " + node.Name + " status is now: NodeNotReady",
			}})
		}
	}
	if taints := Taints(node, now); !equality.Semantic.DeepEqual(taints, node.Spec.Taints) {
		node = node.DeepCopy()
		node.Spec.Taints = taints
		return w.hand.Do(ctx, action.Update[*corev1.Node]{In: resource, Object: node})
	}
	actions, err := w.onPods(node, now)
	if err != nil {
		return controller.Result{}, err
	}
	if silence > 0 {
		actions = append(actions, action.Again{After: silence})
	}
	return w.hand.Do(ctx, actions...)
}

// hear is when a node was last heard of: by its lease, or its own status.
func (w *watcher) hear(node *corev1.Node, now time.Time) time.Time {
	said := heard{uid: node.UID}
	if lease, ok := w.leases.Indexer().Get(informer.Key{Namespace: corev1.NamespaceNodeLease, Name: node.Name}); ok && lease.Spec.RenewTime != nil {
		said.renewed = lease.Spec.RenewTime.Time
	}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			said.beat = c.LastHeartbeatTime.Time
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before, known := w.heard[node.Name]
	if known && before.uid == said.uid && before.renewed.Equal(said.renewed) && before.beat.Equal(said.beat) {
		return before.at
	}
	said.at = now
	w.heard[node.Name] = said
	return now
}

func (w *watcher) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.heard, name)
}

// onPods are what the node's state means for its pods.
func (w *watcher) onPods(node *corev1.Node, now time.Time) (actions []action.Action, err error) {
	ready := statusOf(node, corev1.NodeReady) == corev1.ConditionTrue
	if ready && !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }) {
		return nil, nil
	}
	for pod := range w.pods.Indexer().Each("node", node.Name) {
		if !ready && pods.IsReady(pod) {
			patch, err := unready(pod, now)
			if err != nil {
				return nil, err
			}
			actions = append(actions, patch, action.Event{About: pod, Warning: true, Reason: "NodeNotReady", Message: "Node is not ready"})
		}
		at, leaves := EvictAt(pod, node.Spec.Taints)
		switch {
		case !leaves || pod.DeletionTimestamp != nil || !pods.IsActive(pod):
		case at.After(now):
			actions = append(actions, action.Again{After: at.Sub(now)})
		default:
			actions = append(actions, action.Delete[*corev1.Pod]{In: pods.Resource, Object: pod, Tell: action.Tell{
				About: pod, Reason: "TaintManagerEviction", Message: fmt.Sprintf("Marking for deletion Pod %s/%s", pod.Namespace, pod.Name),
			}})
		}
	}
	return actions, nil
}

// unready says of a pod that it cannot be known to be ready.
func unready(pod *corev1.Pod, now time.Time) (action.Action, error) {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": map[string]any{
		"conditions": []map[string]any{{"type": corev1.PodReady, "status": corev1.ConditionFalse, "lastTransitionTime": metav1.NewTime(now)}},
	}})
	return action.Patch[*corev1.Pod]{
		In: pods.Resource, Object: pod, Subresource: "status", Type: types.StrategicMergePatchType, Body: body, Does: "mark unready",
	}, err
}
