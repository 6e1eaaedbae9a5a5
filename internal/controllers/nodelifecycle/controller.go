// Package nodelifecycle implements the controller that detects failed nodes. If a node's Lease is not
// renewed, the controller sets the node's conditions to Unknown. It translates conditions into taints, which
// keep new pods away, and deletes the pods that do not tolerate these taints, or no longer do, so that their
// controllers replace them on other nodes. It combines Kubernetes' node-lifecycle and taint-eviction
// controllers, without their reduced eviction rate in zones where many nodes fail at once.
//
// decide.go computes the desired conditions and taints from what was observed, without I/O. This file reads
// the cache and writes nodes, evict.go writes their pods. Neither acts on the cache alone when a node appears to be
// silent or its pods appear to need eviction, since the cache itself may have stopped receiving events.
package nodelifecycle

import (
	"context"
	"errors"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "nodelifecycle"

var (
	resource       = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	leasesResource = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

// watcher reconciles one node per request.
type watcher struct {
	nodes    *informer.Informer[*corev1.Node]
	leases   *informer.Informer[*coordinationv1.Lease]
	pods     *informer.Informer[*corev1.Pod]
	executor *action.Executor

	mu       sync.Mutex
	contacts map[string]lastContact // by node name
}

// lastContact records when a node was last heard of, by this process's clock, since the node's clock may be wrong.
type lastContact struct {
	uid                types.UID
	renewed, heartbeat time.Time
	at                 time.Time
	tainted            map[string]time.Time // when taints without timeAdded were first observed
}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	w := &watcher{
		nodes: informer.For[*corev1.Node](m.Informers(), resource),
		leases: informer.For[*coordinationv1.Lease](m.Informers(), leasesResource,
			informer.Scope{Namespace: corev1.NamespaceNodeLease}),
		pods:     informer.For[*corev1.Pod](m.Informers(), pods.Resource),
		executor: action.NewExecutor(m, "node-controller"),
		contacts: map[string]lastContact{},
	}
	w.pods.Indexer().AddIndex("node", informer.ByNodeName)
	nodeOfLease := func(lease *coordinationv1.Lease) []controller.Request {
		return []controller.Request{{Name: lease.Name}}
	}
	nodeOf := func(pod *corev1.Pod) []controller.Request {
		if pod.Spec.NodeName == "" { // the pod's state before it was bound
			return nil
		}
		return []controller.Request{{Name: pod.Spec.NodeName}}
	}
	bound := func(old, now *corev1.Pod) bool {
		return now != nil && now.Spec.NodeName != "" && (old == nil || old.Spec.NodeName != now.Spec.NodeName)
	}
	return m.Add(controller.Options{
		Name: Name, Reconciler: w, Workers: 4,
		Sources: []controller.Source{
			controller.For(w.nodes), controller.Watches(w.leases, nodeOfLease),
			controller.Watches(w.pods, nodeOf, controller.If(bound)),
		},
	})
}

// Reconcile makes at most one write to a node; the resulting event triggers the next step. So does an event
// that the cache has yet to receive.
func (w *watcher) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	node, exists := w.nodes.Indexer().Get(request)
	if !exists {
		w.removeContact(request.Name)
		return controller.Result{}, nil
	}
	result, err := w.reconcileNode(ctx, node, time.Now())
	if errors.Is(err, action.ErrStaleCache) {
		controller.Note(ctx, "%v", err)
		return controller.Result{}, nil
	}
	return result, err
}

func (w *watcher) reconcileNode(ctx context.Context, node *corev1.Node, now time.Time) (controller.Result, error) {
	lease := w.leaseOf(node)
	untilSilent := w.recordContact(node, lease, now).Add(grace(node)).Sub(now)
	if untilSilent <= 0 {
		if conditions, changed := UnknownConditions(node, now); changed {
			return w.executor.Do(ctx, markUnknown(node, lease, conditions))
		}
	}
	if taints := Taints(node, now); !equality.Semantic.DeepEqual(taints, node.Spec.Taints) {
		node = node.DeepCopy()
		node.Spec.Taints = taints
		return w.executor.Do(ctx, action.Update[*corev1.Node]{Resource: resource, Object: node})
	}
	result, err := w.reconcilePods(ctx, node, now)
	if untilSilent > 0 && (result.RequeueAfter == 0 || untilSilent < result.RequeueAfter) {
		result.RequeueAfter = untilSilent
	}
	return result, err
}

// markUnknown sets a node's conditions to Unknown if the server confirms that its lease was not renewed.
func markUnknown(node *corev1.Node, lease *coordinationv1.Lease, conditions []corev1.NodeCondition) action.Action {
	events := action.Events{}
	if statusOf(node, corev1.NodeReady) == corev1.ConditionTrue {
		events = action.Events{Object: node, Reason: "NodeNotReady",
			Message: "Node " + node.Name + " status is now: NodeNotReady"}
	}
	node = node.DeepCopy()
	node.Status.Conditions = conditions
	return action.Guard{
		Preconditions: []action.Precondition{unrenewed{node.Name, lease}},
		Then: []action.Action{action.Update[*corev1.Node]{Resource: resource, Object: node,
			Subresource: "status", Events: events}},
	}
}

func (w *watcher) leaseOf(node *corev1.Node) *coordinationv1.Lease {
	lease, _ := w.leases.Indexer().Get(informer.Key{Namespace: corev1.NamespaceNodeLease, Name: node.Name})
	return lease
}

// recordContact returns when a node was last heard of, by its lease or its status. It also records when taints without
// timeAdded were first observed.
func (w *watcher) recordContact(node *corev1.Node, lease *coordinationv1.Lease, now time.Time) time.Time {
	contact := lastContact{uid: node.UID, renewed: renewed(lease), at: now, tainted: map[string]time.Time{}}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			contact.heartbeat = c.LastHeartbeatTime.Time
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	previous, known := w.contacts[node.Name]
	known = known && previous.uid == contact.uid
	if known && previous.renewed.Equal(contact.renewed) && previous.heartbeat.Equal(contact.heartbeat) {
		contact.at = previous.at
	}
	for i := range node.Spec.Taints {
		if t := &node.Spec.Taints[i]; t.Effect == corev1.TaintEffectNoExecute && t.TimeAdded == nil {
			contact.tainted[t.ToString()] = now
			if at, recorded := previous.tainted[t.ToString()]; known && recorded {
				contact.tainted[t.ToString()] = at
			}
		}
	}
	w.contacts[node.Name] = contact
	return contact.at
}

// since returns a function that reports when a taint was added: its timeAdded, or else when this process
// first observed it.
func (w *watcher) since(node string) func(*corev1.Taint) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	tainted := w.contacts[node].tainted // never modified once stored
	return func(t *corev1.Taint) time.Time {
		if t.TimeAdded != nil {
			return t.TimeAdded.Time
		}
		return tainted[t.ToString()]
	}
}

func (w *watcher) removeContact(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.contacts, name)
}
