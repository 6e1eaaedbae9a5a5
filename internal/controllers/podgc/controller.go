// Package podgc implements the controller that deletes pods that no kubelet will delete: pods whose node is
// gone, terminating pods that were never bound, terminating pods on an out-of-service node and, of the pods
// that have ended, the oldest beyond a limit.
//
// It processes the pods of one node when the node or one of its pods changes, whereas Kubernetes' controller
// scans all pods every 20 seconds. decide.go computes the actions from what was observed, without I/O.
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
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "podgc"

const (
	// MaxEnded is the number of ended pods that are retained.
	MaxEnded = 12500
	// Quarantine is how long a node that pods are bound to may be missing, since it may be about to register.
	Quarantine = 40 * time.Second
	// workers is the number of nodes processed concurrently.
	workers = 4
	// batchDelay batches events of ended pods, since counting scans all ended pods.
	batchDelay = 500 * time.Millisecond
)

var nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// allEnded is the request to count ended pods. It is not a valid node name.
var allEnded = controller.Request{Name: "pods that have ended"}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller { return addWithLimit(m, MaxEnded) }

// addWithLimit adds a controller that retains up to limit ended pods.
func addWithLimit(m *controller.Manager, limit int) *controller.Controller {
	c := &collector{
		nodes: informer.For[*corev1.Node](m.Informers(), nodes),
		pods:  informer.For[*corev1.Pod](m.Informers(), pods.Resource),
		live:  client.Of[*corev1.Node](m.Client(), nodes), executor: action.NewExecutor(m, "pod-garbage-collector"),
		limit: limit, missing: map[string]time.Time{},
	}
	c.pods.Indexer().AddIndex("node", informer.ByNodeName)
	c.pods.Indexer().AddIndex("ended", byEnd)
	return m.Add(controller.Options{
		Name: Name, Reconciler: c, Workers: workers,
		Sources: []controller.Source{
			controller.Watches(c.nodes, c.nodeChanged, controller.If(nodeMatters)),
			controller.Watches(c.pods, nodeOf, controller.If(podMatters)),
			controller.WatchesLater(c.pods, batchDelay, func(*corev1.Pod) []controller.Request {
				return []controller.Request{allEnded}
			},
				controller.If(hasJustEnded)),
		},
	})
}

// collector processes the pods of one node per request; unbound pods belong to the node "".
type collector struct {
	nodes    *informer.Informer[*corev1.Node]
	pods     *informer.Informer[*corev1.Pod]
	live     client.Resource[*corev1.Node]
	executor *action.Executor
	limit    int

	mu      sync.Mutex
	missing map[string]time.Time // since when nodes with pods have been missing
}

// byEnd indexes the pods that have ended.
func byEnd(pod *corev1.Pod) []string {
	if pods.IsTerminal(pod) {
		return []string{"yes"}
	}
	return nil
}

// nodeChanged returns the request for a node.
func (c *collector) nodeChanged(node *corev1.Node) []controller.Request {
	c.clearMissing(node.Name) // a deleted node counts as missing from now on
	return []controller.Request{{Name: node.Name}}
}

// nodeMatters selects nodes that were deleted or went out of service.
func nodeMatters(old, now *corev1.Node) bool {
	return now == nil || isOutOfService(now) && (old == nil || !isOutOfService(old))
}

func nodeOf(pod *corev1.Pod) []controller.Request {
	return []controller.Request{{Name: pod.Spec.NodeName}}
}

// podMatters selects pods that were bound or started terminating.
func podMatters(old, now *corev1.Pod) bool {
	if now == nil {
		return false
	}
	bound := now.Spec.NodeName != "" && (old == nil || old.Spec.NodeName == "")
	ending := now.DeletionTimestamp != nil && (old == nil || old.DeletionTimestamp == nil)
	return bound || ending
}

// hasJustEnded selects pods that have ended.
func hasJustEnded(old, now *corev1.Pod) bool {
	return now != nil && pods.IsTerminal(now) && (old == nil || !pods.IsTerminal(old))
}

// Reconcile deletes the pods of a node that are to be deleted.
func (c *collector) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	if request == allEnded {
		return c.executor.Do(ctx, decideEnded(c.pods.Indexer().Each("ended", "yes"),
			c.pods.Indexer().Count("ended", "yes"),
			c.limit)...)
	}
	s, err := c.observe(ctx, request.Name)
	if err != nil {
		return controller.Result{}, err
	}
	result, err := c.executor.Do(ctx, decide(s)...)
	if err == nil && s.state == gone {
		c.clearMissing(request.Name) // a pod that is bound to it later gets the full quarantine
	}
	return result, err
}

// observe determines the state of a node and lists its pods.
func (c *collector) observe(ctx context.Context, name string) (s input, err error) {
	s.now = time.Now()
	if s.state, s.wait, err = c.stateOf(ctx, name, s.now); err != nil || s.state == present {
		return s, err
	}
	for pod := range c.pods.Indexer().Each("node", name) {
		s.pods = append(s.pods, pod)
	}
	return s, nil
}

// stateOf determines the state of a node and, for a missing one, the remaining quarantine. It asks the server
// to confirm that a node is gone or out of service.
func (c *collector) stateOf(ctx context.Context, name string, now time.Time) (state, time.Duration, error) {
	if name == "" {
		return none, 0, nil
	}
	node, err := c.nodes.Indexer().Find(informer.Key{Name: name})
	absent := apierrors.IsNotFound(err)
	switch {
	case err != nil && !absent:
		return present, 0, err
	case c.pods.Indexer().Count("node", name) == 0 || !absent && !isOutOfService(node):
		c.clearMissing(name)
		return present, 0, nil
	case !absent:
		confirmed, err := c.confirm(ctx, name, outOfService)
		return confirmed, 0, err
	}
	if wait := c.missingSince(name, now).Add(Quarantine).Sub(now); wait > 0 {
		return missing, wait, nil
	}
	confirmed, err := c.confirm(ctx, name, gone)
	return confirmed, 0, err
}

// confirm asks the server whether a node is gone or out of service, as the cache shows. If not, it returns
// present; once the cache has caught up, its event triggers another reconcile if needed.
func (c *collector) confirm(ctx context.Context, name string, observed state) (confirmed state, err error) {
	err = action.RetryIfSlow(func() error {
		node, err := c.live.Get(ctx, "", name)
		switch err = action.ClassifyNotFound(err, nodes, name); {
		case action.IsGone(err):
			confirmed = gone
			return nil
		case err == nil && isOutOfService(node):
			confirmed = outOfService
		default:
			confirmed = present
		}
		return err
	})
	if err == nil && confirmed == observed {
		return confirmed, nil
	}
	if err == nil {
		c.clearMissing(name)
	}
	return present, err
}

// missingSince returns since when a node has been missing.
func (c *collector) missingSince(name string, now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.missing[name]; !known {
		c.missing[name] = now
	}
	return c.missing[name]
}

// clearMissing resets the time since which a node has been missing.
func (c *collector) clearMissing(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.missing, name)
}
