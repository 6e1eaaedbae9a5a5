package scheduler

import (
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// cluster is the scheduler's view of the cluster: the nodes with their pods, from the caches, and
// reservations for pods that the caches do not show on their node yet. When anything about a node changes,
// the node is recomputed as a whole; no event is counted incrementally.
type cluster struct {
	nodes      *informer.Informer[*corev1.Node]
	pods       *informer.Informer[*corev1.Pod]
	namespaces *informer.Informer[*corev1.Namespace]

	mu         sync.Mutex
	all        []*Node // sorted by name
	byName     map[string]*Node
	changed    map[string]bool                  // names of the nodes to recompute
	placed     map[informer.Key]placement       // pods on the nodes as last computed
	nominated  map[informer.Key]string          // nominated nodes of pods as last computed
	reserved   map[informer.Key]reservation     // reservations
	reservedOn map[string]map[informer.Key]bool // reservations by node
	waiting    map[informer.Key]*waitingPod
	pending    pendingPods
	start      int

	antiAffinity, affinity int // number of pods with required anti-affinity, and with other pod affinity
}

// placement is a pod on a node.
type placement struct {
	on  *Node
	pod *Pod
}

// node returns the node's name, empty if there is none.
func (p placement) node() string {
	if p.on == nil {
		return ""
	}
	return p.on.Name
}

// reservation is the reservation of a node for a pod. It holds the room until the cache shows the outcome.
type reservation struct {
	node string
	pod  *Pod
	sent bool // a binding may have been sent to the server
}

// Names of the pod indexes.
const (
	byNode       = "node"
	byNomination = "nominated node"
)

// nominatedNode indexes unbound pods by the node that they are nominated for.
func nominatedNode(pod *corev1.Pod) []string {
	if pod.Spec.NodeName != "" || pod.Status.NominatedNodeName == "" {
		return nil
	}
	return []string{pod.Status.NominatedNodeName}
}

// sync recomputes the changed nodes. The caller holds the lock.
func (c *cluster) sync() {
	for name := range c.changed {
		c.read(name)
	}
	clear(c.changed)
}

// read recomputes a node and its pods.
func (c *cluster) read(name string) {
	before := c.byName[name]
	node, exists := c.nodes.Indexer().Get(informer.Key{Name: name})
	// Read reservations before the cache: a pod that becomes visible in between would otherwise be in
	// neither.
	given := c.unconfirmed(name)
	var fresh *Node
	if exists {
		fresh = NewNode(node)
		for pod := range c.pods.Indexer().Each(byNode, name) {
			if !pods.IsTerminal(pod) {
				c.place(fresh, c.parsed(pod))
				delete(given, informer.KeyOf(pod))
			}
		}
		for _, p := range given {
			c.place(fresh, p)
		}
		for pod := range c.pods.Indexer().Each(byNomination, name) {
			if _, given := c.reserved[informer.KeyOf(pod)]; !given && pod.DeletionTimestamp == nil &&
				!pods.IsTerminal(pod) {
				fresh.Nominated = append(fresh.Nominated, NewPod(pod))
				c.nominated[informer.KeyOf(pod)] = name
			}
		}
	}
	c.replace(name, before, fresh)
}

// parsed returns the parsed form of a pod, reused if the pod has not changed.
func (c *cluster) parsed(pod *corev1.Pod) *Pod {
	if before, ok := c.placed[informer.KeyOf(pod)]; ok && before.pod.Pod == pod {
		return before.pod
	}
	return NewPod(pod)
}

func (c *cluster) place(n *Node, p *Pod) {
	n.add(p)
	c.placed[informer.KeyOf(p.Pod)] = placement{n, p}
}

// unconfirmed returns the pods that have a reservation for the node and that the cache does not show there yet.
// It drops other reservations: those of pods that the cache shows, and those of pods that can no longer be
// bound.
func (c *cluster) unconfirmed(name string) map[informer.Key]*Pod {
	missing := map[informer.Key]*Pod{}
	for key := range c.reservedOn[name] {
		g := c.reserved[key]
		pod, exists := c.pods.Indexer().Get(key)
		if !exists || pod.UID != g.pod.UID || !pending(pod) {
			c.dropReservation(key)
			continue
		}
		missing[key] = g.pod
	}
	return missing
}

func (c *cluster) dropReservation(key informer.Key) {
	g, ok := c.reserved[key]
	if !ok {
		return
	}
	delete(c.reserved, key)
	delete(c.reservedOn[g.node], key)
	if len(c.reservedOn[g.node]) == 0 {
		delete(c.reservedOn, g.node)
	}
}

// replace replaces the state of a node; before and fresh may be nil.
func (c *cluster) replace(name string, before, fresh *Node) {
	if before != nil {
		c.antiAffinity, c.affinity = c.antiAffinity-len(before.antiAffinity), c.affinity-len(before.affinity)
		for _, p := range before.Pods {
			if key := informer.KeyOf(p.Pod); c.placed[key].on == before { // unless it has since moved to another node
				delete(c.placed, key)
			}
		}
	}
	if fresh != nil {
		c.antiAffinity, c.affinity = c.antiAffinity+len(fresh.antiAffinity), c.affinity+len(fresh.affinity)
	}
	at, found := slices.BinarySearchFunc(c.all, name, func(n *Node, name string) int {
		return strings.Compare(n.Name, name)
	})
	switch {
	case fresh == nil && found:
		c.all = slices.Delete(c.all, at, at+1)
		delete(c.byName, name)
	case fresh == nil:
	case found:
		c.all[at], c.byName[name] = fresh, fresh
	default:
		c.all, c.byName[name] = slices.Insert(c.all, at, fresh), fresh
	}
}

// invalidate marks as changed the nodes that a pod is, was, or is nominated to be on, and returns their names.
func (c *cluster) invalidate(pod *corev1.Pod) (names []string) {
	key := informer.KeyOf(pod)
	for _, name := range [...]string{
		pod.Spec.NodeName, pod.Status.NominatedNodeName, c.placed[key].node(), c.reserved[key].node, c.nominated[key],
	} {
		if name != "" && !slices.Contains(names, name) {
			c.changed[name] = true
			names = append(names, name)
		}
	}
	delete(c.nominated, key)
	return names
}

// choose decides where a pod goes and reserves the room. A pod whose binding has an unknown outcome keeps its
// node. A pod that fits nowhere is recorded as waiting.
func (c *cluster) choose(pod *corev1.Pod, budgets func() []*policyv1.PodDisruptionBudget, now time.Time) Decision {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sync()
	key := informer.KeyOf(pod)
	if g, ok := c.reserved[key]; ok && g.sent && g.pod.UID == pod.UID && c.byName[g.node] != nil {
		return Decision{Node: g.node}
	}
	p := NewPod(pod)
	c.pending.remove(pod)
	c.reserveForHigher(p, now)
	if c.releaseReservation(key) {
		c.sync()
	}
	d := c.decide(p, budgets)
	if d.Node == "" {
		c.addWaiting(p, d, now)
		return d
	}
	delete(c.waiting, key)
	c.reserve(p, d.Node, true)
	return d
}

func (c *cluster) decide(p *Pod, budgets func() []*policyv1.PodDisruptionBudget) Decision {
	d := Decide(Input{
		Pod: p, Nodes: c.all, Start: c.start, Namespaces: c.labelsOf, Budgets: budgets,
		Node:         func(name string) *Node { return c.byName[name] },
		AntiAffinity: c.antiAffinity > 0, Affinity: c.affinity > 0,
	})
	if len(c.all) > 0 {
		c.start = (c.start + d.Checked) % len(c.all)
	}
	return d
}

// reserve reserves room for a pod on a node.
func (c *cluster) reserve(p *Pod, name string, sent bool) {
	key := informer.KeyOf(p.Pod)
	c.reserved[key] = reservation{name, p, sent}
	if c.reservedOn[name] == nil {
		c.reservedOn[name] = map[informer.Key]bool{}
	}
	c.reservedOn[name][key] = true
	n := c.byName[name]
	c.place(n, p)
	c.antiAffinity, c.affinity = c.antiAffinity+min(1, len(p.antiAffinity)),
		c.affinity+min(1, len(p.affinity)+len(p.preferredPods))
	n.Nominated = slices.DeleteFunc(n.Nominated, func(q *Pod) bool { return q.UID == p.UID })
}

// onBindingRejected releases the reservation of a pod whose binding the server rejected.
func (c *cluster) onBindingRejected(key informer.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.releaseReservation(key)
}

// onBoundElsewhere handles a pod that was deleted, or bound by another scheduler, before its binding. The reservation
// remains until the cache shows this: the other scheduler may have chosen the same node.
func (c *cluster) onBoundElsewhere(key informer.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g, ok := c.reserved[key]; ok {
		c.changed[g.node] = true
	}
}

func (c *cluster) releaseReservation(key informer.Key) bool {
	g, ok := c.reserved[key]
	if ok {
		c.changed[g.node] = true
		c.dropReservation(key)
	}
	return ok
}

// stopWaiting removes a pod that no longer waits.
func (c *cluster) stopWaiting(key informer.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, key)
}

// labelsOf returns the labels of a namespace.
func (c *cluster) labelsOf(namespace string) labels.Set {
	if ns, ok := c.namespaces.Indexer().Get(informer.Key{Name: namespace}); ok {
		return ns.Labels
	}
	return nil
}
