// Package nodelifecycle is the controller that notices when nodes fall silent. A node whose Lease is not renewed is not known to
// be ready any more; its conditions become taints, which keep new pods away; and pods that do not tolerate them, or have
// done so for long enough, are deleted, so that whoever wants them makes them elsewhere. It is what Kubernetes divides among the
// node-lifecycle and the taint-eviction controllers, but that it does not spare zones in which many nodes fail at once.
//
// decide.go is what should be, of nothing but what was seen. This file reads the cache and writes about nodes, evict.go about
// their pods. Neither believes a cache that a node is silent, or that pods must leave it: it may be the cache that hears
// nothing.
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
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
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
	tainted       map[string]time.Time // since when it has taints that do not say so
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
	nodeOf := func(pod *corev1.Pod) []controller.Request {
		if pod.Spec.NodeName == "" { // as it was before it got one
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
			controller.For(w.nodes), controller.Watches(w.leases, named), controller.Watches(w.pods, nodeOf, controller.If(bound)),
		},
	})
}

// Reconcile writes one thing at a time: what it has written wakes it up again. So does what the cache does not show yet.
func (w *watcher) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	node, there := w.nodes.Indexer().Get(request)
	if !there {
		w.forget(request.Name)
		return controller.Result{}, nil
	}
	result, err := w.look(ctx, node, time.Now())
	if errors.Is(err, action.ErrBehind) {
		controller.Note(ctx, "%v", err)
		return controller.Result{}, nil
	}
	return result, err
}

func (w *watcher) look(ctx context.Context, node *corev1.Node, now time.Time) (controller.Result, error) {
	lease := w.leaseOf(node)
	silence := w.hear(node, lease, now).Add(grace(node)).Sub(now)
	if silence <= 0 {
		if conditions, changed := Silent(node, now); changed {
			return w.hand.Do(ctx, silenced(node, lease, conditions))
		}
	}
	if taints := Taints(node, now); !equality.Semantic.DeepEqual(taints, node.Spec.Taints) {
		node = node.DeepCopy()
		node.Spec.Taints = taints
		return w.hand.Do(ctx, action.Update[*corev1.Node]{In: resource, Object: node})
	}
	result, err := w.onPods(ctx, node, now)
	if silence > 0 && (result.RequeueAfter == 0 || silence < result.RequeueAfter) {
		result.RequeueAfter = silence
	}
	return result, err
}

// silenced says of a node that nobody knows how it is, if it is silent by the server's word too.
func silenced(node *corev1.Node, lease *coordinationv1.Lease, conditions []corev1.NodeCondition) action.Action {
	tell := action.Tell{}
	if statusOf(node, corev1.NodeReady) == corev1.ConditionTrue {
		tell = action.Tell{About: node, Reason: "NodeNotReady", Message: "Node " + node.Name + " status is now: NodeNotReady"}
	}
	node = node.DeepCopy()
	node.Status.Conditions = conditions
	return action.Sure{
		Asks: []action.Question{unrenewed{node.Name, lease}},
		Then: []action.Action{action.Update[*corev1.Node]{In: resource, Object: node, Subresource: "status", Tell: tell}},
	}
}

func (w *watcher) leaseOf(node *corev1.Node) *coordinationv1.Lease {
	lease, _ := w.leases.Indexer().Get(informer.Key{Namespace: corev1.NamespaceNodeLease, Name: node.Name})
	return lease
}

// hear is when a node was last heard of: by its lease, or its own status. It notes as well which of its taints do not say since
// when they are there.
func (w *watcher) hear(node *corev1.Node, lease *coordinationv1.Lease, now time.Time) time.Time {
	said := heard{uid: node.UID, renewed: renewed(lease), at: now, tainted: map[string]time.Time{}}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			said.beat = c.LastHeartbeatTime.Time
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before, known := w.heard[node.Name]
	known = known && before.uid == said.uid
	if known && before.renewed.Equal(said.renewed) && before.beat.Equal(said.beat) {
		said.at = before.at
	}
	for i := range node.Spec.Taints {
		if t := &node.Spec.Taints[i]; t.Effect == corev1.TaintEffectNoExecute && t.TimeAdded == nil {
			said.tainted[t.ToString()] = now
			if at, was := before.tainted[t.ToString()]; known && was {
				said.tainted[t.ToString()] = at
			}
		}
	}
	w.heard[node.Name] = said
	return said.at
}

// since is since when a node has a taint: by its own word, or else since this process has seen it.
func (w *watcher) since(node string) func(*corev1.Taint) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	tainted := w.heard[node].tainted // which nobody changes
	return func(t *corev1.Taint) time.Time {
		if t.TimeAdded != nil {
			return t.TimeAdded.Time
		}
		return tainted[t.ToString()]
	}
}

func (w *watcher) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.heard, name)
}
