// Package podgc is the controller that removes pods nobody else will: those whose node is gone, those that end and were never
// on a node, those that end on a node which is out of service, and, of pods that have ended, all but the youngest thousands.
//
// It looks at the pods of one node at a time, when something about the node or one of them changes, where Kubernetes' goes
// through all pods every 20 seconds. decide.go is what it does, of nothing but what was seen.
package podgc

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// Name of the controller, as --controllers takes it.
const Name = "podgc"

const (
	// MostEnded is how many pods that have ended are kept.
	MostEnded = 12500
	// Quarantine is how long a node that pods are bound to may be missing: it may be about to register.
	Quarantine = 40 * time.Second
	// workers is how many nodes are looked at at a time.
	workers = 4
	// later is how long the ends of pods are gathered before the pods that have ended are counted: that goes through all of them.
	later = 500 * time.Millisecond
)

var nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// allEnded is the request to count the pods that have ended. No node has its name.
var allEnded = controller.Request{Name: "pods that have ended"}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller { return addKeeping(m, MostEnded) }

// addKeeping adds a controller that keeps so many pods that have ended.
func addKeeping(m *controller.Manager, most int) *controller.Controller {
	c := &collector{
		nodes: informer.For[*corev1.Node](m.Informers(), nodes), pods: informer.For[*corev1.Pod](m.Informers(), pods.Resource),
		live: client.Of[*corev1.Node](m.Client(), nodes), hand: action.NewHand(m, "pod-garbage-collector"),
		most: most, missing: map[string]time.Time{},
	}
	c.pods.Indexer().AddIndex("node", informer.ByNodeName)
	c.pods.Indexer().AddIndex("ended", byEnd)
	return m.Add(controller.Options{
		Name: Name, Reconciler: c, Workers: workers,
		Sources: []controller.Source{
			controller.Watches(c.nodes, c.nodeChanged, controller.If(nodeMatters)),
			controller.Watches(c.pods, nodeOf, controller.If(podMatters)),
			controller.WatchesLater(c.pods, later, func(*corev1.Pod) []controller.Request { return []controller.Request{allEnded} },
				controller.If(hasJustEnded)),
		},
	})
}

// collector looks at the pods of one node at a time; those that are on none are those of the node "".
type collector struct {
	nodes *informer.Informer[*corev1.Node]
	pods  *informer.Informer[*corev1.Pod]
	live  client.Resource[*corev1.Node]
	hand  *action.Hand
	most  int

	mu      sync.Mutex
	missing map[string]time.Time // since when nodes that pods are bound to have not been there
}

// byEnd finds the pods that have ended.
func byEnd(pod *corev1.Pod) []string {
	if pods.HasEnded(pod) {
		return []string{"yes"}
	}
	return nil
}

// nodeChanged has the pods of a node looked at.
func (c *collector) nodeChanged(node *corev1.Node) []controller.Request {
	c.found(node.Name) // if it is missing, then from now on
	return []controller.Request{{Name: node.Name}}
}

// nodeMatters says whether a node has gone, or is out of service by now.
func nodeMatters(old, now *corev1.Node) bool {
	return now == nil || isOutOfService(now) && (old == nil || !isOutOfService(old))
}

func nodeOf(pod *corev1.Pod) []controller.Request {
	return []controller.Request{{Name: pod.Spec.NodeName}}
}

// podMatters says whether a pod has got a node, or has begun to end.
func podMatters(old, now *corev1.Pod) bool {
	if now == nil {
		return false
	}
	bound := now.Spec.NodeName != "" && (old == nil || old.Spec.NodeName == "")
	ending := now.DeletionTimestamp != nil && (old == nil || old.DeletionTimestamp == nil)
	return bound || ending
}

// hasJustEnded says whether a pod has ended, and had not before.
func hasJustEnded(old, now *corev1.Pod) bool {
	return now != nil && pods.HasEnded(now) && (old == nil || !pods.HasEnded(old))
}

// Reconcile removes what there is to remove of a node's pods.
func (c *collector) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	if request == allEnded {
		return c.hand.Do(ctx, decideEnded(c.pods.Indexer().Each("ended", "yes"), c.pods.Indexer().Count("ended", "yes"), c.most)...)
	}
	s, err := c.see(ctx, request.Name)
	if err != nil {
		return controller.Result{}, err
	}
	result, err := c.hand.Do(ctx, decide(s)...)
	if err == nil && s.state == gone {
		c.found(request.Name) // what is bound to it next has its time again
	}
	return result, err
}

// see finds out how a node is, and which pods it has.
func (c *collector) see(ctx context.Context, name string) (s seen, err error) {
	s.now = time.Now()
	if s.state, s.wait, err = c.stateOf(ctx, name, s.now); err != nil || s.state == solid {
		return s, err
	}
	for pod := range c.pods.Indexer().Each("node", name) {
		s.pods = append(s.pods, pod)
	}
	return s, nil
}

// stateOf says how a node is, and how long one is to be waited for that is missing. That it is gone, or out of service, the
// server must say as well.
func (c *collector) stateOf(ctx context.Context, name string, now time.Time) (state, time.Duration, error) {
	if name == "" {
		return none, 0, nil
	}
	node, err := c.nodes.Indexer().Find(informer.Key{Name: name})
	absent := apierrors.IsNotFound(err)
	switch {
	case err != nil && !absent:
		return solid, 0, err
	case c.pods.Indexer().Count("node", name) == 0 || !absent && !isOutOfService(node):
		c.found(name)
		return solid, 0, nil
	case !absent:
		is, err := c.agreed(ctx, name, outOfService)
		return is, 0, err
	}
	if wait := c.lack(name, now).Add(Quarantine).Sub(now); wait > 0 {
		return missing, wait, nil
	}
	is, err := c.agreed(ctx, name, gone)
	return is, 0, err
}

// agreed asks the server for a node that is gone or out of service as far as the cache shows. Otherwise it has come, or is in
// service again, and nothing is to be done: the cache will show what it is.
func (c *collector) agreed(ctx context.Context, name string, seems state) (is state, err error) {
	err = action.Soon(func() error {
		node, err := c.live.Get(ctx, "", name)
		switch err = action.Unserved(err, nodes, name); {
		case action.IsGone(err):
			is = gone
			return nil
		case err == nil && isOutOfService(node):
			is = outOfService
		default:
			is = solid
		}
		return err
	})
	if err == nil && is == seems {
		return is, nil
	}
	if err == nil {
		c.found(name)
	}
	return solid, err
}

// lack is since when a node is missing.
func (c *collector) lack(name string, now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.missing[name]; !known {
		c.missing[name] = now
	}
	return c.missing[name]
}

// found forgets that a node was missing.
func (c *collector) found(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.missing, name)
}
