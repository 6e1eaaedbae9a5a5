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

// Names of the two controllers that the agent is.
const (
	Name    = "node"     // registers nodes, and renews their leases
	PodName = "node-pod" // cares for the pods on them
)

// Options of an agent.
type Options struct {
	// Names are the nodes that it cares for. Of one alone it reads, of nodes and pods, nothing but that one's.
	Names []string
	// Runtime runs their pods.
	Runtime Runtime
	// Beat is how often each node's Lease is renewed, which lasts four times as long and at least a second; 0 and less mean ten
	// seconds, as for a kubelet.
	Beat time.Duration
	// Workers is how many pods are cared for at a time; 0 means 8.
	Workers int
}

var (
	nodesResource  = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	podsResource   = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	leasesResource = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
)

// agent cares for some nodes. What it remembers of one, and of one pod, belongs to the worker that is at it.
type agent struct {
	runtime Runtime
	beat    time.Duration
	events  *controller.Recorder

	nodes     *informer.Informer[*corev1.Node]
	pods      *informer.Informer[*corev1.Pod]
	writeNode client.Resource[*corev1.Node]
	writePod  client.Resource[*corev1.Pod]
	leases    client.Resource[*coordinationv1.Lease]

	mine  map[string]*membership // never changes after Add
	begun sync.Once              // the pods that there were are known

	mu    sync.Mutex
	lives map[informer.Key]*life
}

// Add adds an agent to a manager. It is two controllers.
func Add(m *controller.Manager, o Options) {
	a := &agent{
		runtime: o.Runtime, beat: o.Beat, events: m.Recorder(o.Runtime.Name()),
		nodes:     informer.For[*corev1.Node](m.Informers(), nodesResource, only("metadata.name", o.Names)...),
		pods:      informer.For[*corev1.Pod](m.Informers(), podsResource, only("spec.nodeName", o.Names)...),
		writeNode: client.Of[*corev1.Node](m.Client(), nodesResource),
		writePod:  client.Of[*corev1.Pod](m.Client(), podsResource),
		leases:    client.Of[*coordinationv1.Lease](m.Client(), leasesResource),
		mine:      map[string]*membership{}, lives: map[informer.Key]*life{},
	}
	if a.beat <= 0 {
		a.beat = 10 * time.Second
	}
	a.pods.Indexer().AddIndex("node", informer.ByNodeName)
	var begin, changed controller.Trigger
	for _, name := range o.Names {
		a.mine[name] = &membership{}
		begin.Add(controller.Request{Name: name})
	}
	o.Runtime.Notify(func(pod types.NamespacedName) { changed.Add(pod) })
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
			&changed,
			controller.For(a.pods, controller.If(func(old, now *corev1.Pod) bool { return a.cares(old) || a.cares(now) })),
			controller.Watches(a.nodes, a.podsOn, controller.If(func(old, now *corev1.Node) bool { return a.dead(old) != a.dead(now) })),
		},
	})
}

// only is the scope of what one node's agent reads.
func only(field string, names []string) []informer.Scope {
	if len(names) != 1 {
		return nil
	}
	return []informer.Scope{{Fields: fields.OneTermEqualSelector(field, names[0])}}
}

// cares says whether a pod is bound to a node of the agent.
func (a *agent) cares(pod *corev1.Pod) bool { return pod != nil && a.mine[pod.Spec.NodeName] != nil }

// dead says whether a node is to be left alone. One that is not there is not dead: its pods run.
func (a *agent) dead(node *corev1.Node) bool {
	dying, can := a.runtime.(Dying)
	return can && node != nil && dying.Dead(node)
}

// podsOn are the pods of a node.
func (a *agent) podsOn(node *corev1.Node) (requests []controller.Request) {
	for pod := range a.pods.Indexer().Each("node", node.Name) {
		requests = append(requests, informer.KeyOf(pod))
	}
	return requests
}

// NodeNames are those of count nodes: node-0, node-1, and so on.
func NodeNames(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("node-%d", i)
	}
	return names
}
