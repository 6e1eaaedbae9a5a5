package node

import (
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// Names of the agent's two controllers.
const (
	Name    = "node"     // registers nodes and renews their leases
	PodName = "node-pod" // runs their pods
)

// Options configure an agent.
type Options struct {
	// Names are the nodes that it manages. With a single one, the agent reads only that node and its pods.
	Names []string
	// Runtime runs the pods.
	Runtime Runtime
	// LeaseInterval is the interval at which each node's Lease is renewed. The lease lasts four times as long, and at
	// least a second. Zero and less mean ten seconds, as for a kubelet.
	LeaseInterval time.Duration
	// Workers is the number of pods reconciled concurrently; 0 means 8.
	Workers int
}

var (
	nodesResource  = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	podsResource   = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	leasesResource = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

// agent manages nodes. Its state of a node or a pod belongs to the worker that reconciles it.
type agent struct {
	runtime       Runtime
	leaseInterval time.Duration
	events        *controller.Recorder

	nodes     *informer.Informer[*corev1.Node]
	pods      *informer.Informer[*corev1.Pod]
	writeNode client.Resource[*corev1.Node]
	writePod  client.Resource[*corev1.Pod]
	leases    client.Resource[*coordinationv1.Lease]

	members   map[string]*membership // immutable after Add
	recovered sync.Once              // runs recall before the first reconcile of a pod

	changed controller.Trigger // enqueues pods

	mu       sync.Mutex
	lives    map[informer.Key]*podState
	deferred map[informer.Key]bool // pods with a deferred resize
}

// Add adds an agent, which consists of two controllers, to a manager.
func Add(m *controller.Manager, o Options) {
	a := &agent{
		runtime: o.Runtime, leaseInterval: o.LeaseInterval, events: m.Recorder(o.Runtime.Name()),
		nodes:     informer.For[*corev1.Node](m.Informers(), nodesResource, scopeFor("metadata.name", o.Names)...),
		pods:      informer.For[*corev1.Pod](m.Informers(), podsResource, scopeFor("spec.nodeName", o.Names)...),
		writeNode: client.Of[*corev1.Node](m.Client(), nodesResource),
		writePod:  client.Of[*corev1.Pod](m.Client(), podsResource),
		leases:    client.Of[*coordinationv1.Lease](m.Client(), leasesResource),
		members:   map[string]*membership{}, lives: map[informer.Key]*podState{}, deferred: map[informer.Key]bool{},
	}
	if a.leaseInterval <= 0 {
		a.leaseInterval = 10 * time.Second
	}
	a.pods.Indexer().AddIndex("node", informer.ByNodeName)
	var begin controller.Trigger
	for _, name := range o.Names {
		a.members[name] = &membership{}
		begin.Add(controller.Request{Name: name})
	}
	o.Runtime.Notify(func(pod types.NamespacedName) { a.changed.Add(pod) })
	m.Add(controller.Options{
		Name: Name, Reconciler: controller.Func(a.reconcileNode), Workers: 4,
		Sources: []controller.Source{&begin, controller.For(a.nodes)},
	})
	workers := o.Workers
	if workers <= 0 {
		workers = 8
	}
	m.Add(controller.Options{
		Name: PodName, Reconciler: controller.Func(a.reconcilePod), Workers: workers,
		Sources: []controller.Source{
			&a.changed,
			controller.For(a.pods, controller.If(func(old, now *corev1.Pod) bool {
				return a.manages(old) || a.manages(now)
			})),
			controller.Watches(a.nodes, a.podsOn, controller.If(func(old, now *corev1.Node) bool {
				return a.dead(old) != a.dead(now)
			})),
		},
	})
}

// scopeFor limits the caches of an agent with a single node to that node.
func scopeFor(field string, names []string) []informer.Scope {
	if len(names) != 1 {
		return nil
	}
	return []informer.Scope{{Fields: fields.OneTermEqualSelector(field, names[0])}}
}

// manages reports whether a pod is bound to a node of the agent.
func (a *agent) manages(pod *corev1.Pod) bool {
	return pod != nil && a.members[pod.Spec.NodeName] != nil
}

// dead reports whether a node simulates a failure. A node that does not exist is not dead: its pods run.
func (a *agent) dead(node *corev1.Node) bool {
	dying, can := a.runtime.(FailureSimulator)
	return can && node != nil && dying.Dead(node)
}

// podsOn returns the pods of a node.
func (a *agent) podsOn(node *corev1.Node) (requests []controller.Request) {
	for pod := range a.pods.Indexer().Each("node", node.Name) {
		requests = append(requests, informer.KeyOf(pod))
	}
	return requests
}

// NodeNames returns the names of count nodes: node-0, node-1, and so on.
func NodeNames(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("node-%d", i)
	}
	return names
}
