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
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// cluster is what there is: the nodes with their pods, as the caches have them, and the pods that were given a node and are not
// shown there yet. A node is read again when something about it has changed, all of it: no event is counted.
type cluster struct {
	nodes      *informer.Informer[*corev1.Node]
	pods       *informer.Informer[*corev1.Pod]
	namespaces *informer.Informer[*corev1.Namespace]

	mu       sync.Mutex
	all      []*Node // by name
	byName   map[string]*Node
	changed  map[string]bool                  // names of the nodes to read again
	placed   map[informer.Key]placement       // where pods were when their nodes were read
	promised map[informer.Key]string          // the nodes that were promised to pods then
	given    map[informer.Key]gift            // what is not shown yet
	givenOn  map[string]map[informer.Key]bool // the same, by node
	waiting  map[informer.Key]*wait
	asking   asking
	start    int

	apart, minding int // how many pods have a say about who must be, and should be, near
}

// placement is a pod on a node.
type placement struct {
	on  *Node
	pod *Pod
}

// node is its name, empty for none.
func (p placement) node() string {
	if p.on == nil {
		return ""
	}
	return p.on.Name
}

// gift is a pod that was given a node: nobody else gets its room until the cache shows what came of that.
type gift struct {
	node string
	pod  *Pod
	told bool // the server may know
}

// The indexes that pods are found by.
const (
	byNode    = "node"
	byPromise = "promised node"
)

// promisedNode finds pods by the node that they were promised, while they have none.
func promisedNode(pod *corev1.Pod) []string {
	if pod.Spec.NodeName != "" || pod.Status.NominatedNodeName == "" {
		return nil
	}
	return []string{pod.Status.NominatedNodeName}
}

// sync reads again what has changed. The lock is held.
func (c *cluster) sync() {
	for name := range c.changed {
		c.read(name)
	}
	clear(c.changed)
}

// read reads a node and its pods.
func (c *cluster) read(name string) {
	before := c.byName[name]
	node, there := c.nodes.Indexer().Get(informer.Key{Name: name})
	// What was given is looked at before what is shown: else a pod that becomes visible meanwhile would be in neither.
	given := c.unshown(name)
	var fresh *Node
	if there {
		fresh = NewNode(node)
		for pod := range c.pods.Indexer().Each(byNode, name) {
			if !pods.HasEnded(pod) {
				c.place(fresh, c.known(pod))
				delete(given, informer.KeyOf(pod))
			}
		}
		for _, p := range given {
			c.place(fresh, p)
		}
		for pod := range c.pods.Indexer().Each(byPromise, name) {
			if _, given := c.given[informer.KeyOf(pod)]; !given && pod.DeletionTimestamp == nil && !pods.HasEnded(pod) {
				fresh.Promised = append(fresh.Promised, NewPod(pod))
				c.promised[informer.KeyOf(pod)] = name
			}
		}
	}
	c.replace(name, before, fresh)
}

// known is a pod as it was read already, unless it has changed since.
func (c *cluster) known(pod *corev1.Pod) *Pod {
	if before, ok := c.placed[informer.KeyOf(pod)]; ok && before.pod.Pod == pod {
		return before.pod
	}
	return NewPod(pod)
}

func (c *cluster) place(n *Node, p *Pod) {
	n.add(p)
	c.placed[informer.KeyOf(p.Pod)] = placement{n, p}
}

// unshown are the pods that were given a node and that the cache does not show there yet. Others are forgotten: those that it
// shows, and those that no server binds any more.
func (c *cluster) unshown(name string) map[informer.Key]*Pod {
	unshown := map[informer.Key]*Pod{}
	for key := range c.givenOn[name] {
		g := c.given[key]
		pod, there := c.pods.Indexer().Get(key)
		if !there || pod.UID != g.pod.UID || !pending(pod) {
			c.forgetGift(key)
			continue
		}
		unshown[key] = g.pod
	}
	return unshown
}

func (c *cluster) forgetGift(key informer.Key) {
	g, ok := c.given[key]
	if !ok {
		return
	}
	delete(c.given, key)
	delete(c.givenOn[g.node], key)
	if len(c.givenOn[g.node]) == 0 {
		delete(c.givenOn, g.node)
	}
}

// replace puts a node that was read into the place of what it was before; either may be nil.
func (c *cluster) replace(name string, before, fresh *Node) {
	if before != nil {
		c.apart, c.minding = c.apart-len(before.apart), c.minding-len(before.minding)
		for _, p := range before.Pods {
			if key := informer.KeyOf(p.Pod); c.placed[key].on == before { // and on no other since
				delete(c.placed, key)
			}
		}
	}
	if fresh != nil {
		c.apart, c.minding = c.apart+len(fresh.apart), c.minding+len(fresh.minding)
	}
	at, found := slices.BinarySearchFunc(c.all, name, func(n *Node, name string) int { return strings.Compare(n.Name, name) })
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

// touch has the nodes read again that a pod is on, was on, or was promised, and returns their names.
func (c *cluster) touch(pod *corev1.Pod) (names []string) {
	key := informer.KeyOf(pod)
	for _, name := range [...]string{
		pod.Spec.NodeName, pod.Status.NominatedNodeName, c.placed[key].node(), c.given[key].node, c.promised[key],
	} {
		if name != "" && !slices.Contains(names, name) {
			c.changed[name] = true
			names = append(names, name)
		}
	}
	delete(c.promised, key)
	return names
}

// choose decides where a pod goes, and gives it the room there. A pod that has been given a node already, and of which it is not
// known what came of it, is given the same. A pod that finds no room waits.
func (c *cluster) choose(pod *corev1.Pod, budgets func() []*policyv1.PodDisruptionBudget, now time.Time) Decision {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sync()
	key := informer.KeyOf(pod)
	if g, ok := c.given[key]; ok && g.told && g.pod.UID == pod.UID && c.byName[g.node] != nil {
		return Decision{Node: g.node}
	}
	p := NewPod(pod)
	c.asking.remove(pod)
	c.moreImportant(p, now)
	if c.takeBack(key) {
		c.sync()
	}
	d := c.decide(p, budgets)
	if d.Node == "" {
		c.wait(p, d, now)
		return d
	}
	delete(c.waiting, key)
	c.give(p, d.Node, true)
	return d
}

func (c *cluster) decide(p *Pod, budgets func() []*policyv1.PodDisruptionBudget) Decision {
	d := Decide(Seen{
		Pod: p, Nodes: c.all, Start: c.start, Namespaces: c.labelsOf, Budgets: budgets,
		Node:  func(name string) *Node { return c.byName[name] },
		Apart: c.apart > 0, Minding: c.minding > 0,
	})
	if len(c.all) > 0 {
		c.start = (c.start + d.Looked) % len(c.all)
	}
	return d
}

// give gives a pod its room on a node.
func (c *cluster) give(p *Pod, name string, told bool) {
	key := informer.KeyOf(p.Pod)
	c.given[key] = gift{name, p, told}
	if c.givenOn[name] == nil {
		c.givenOn[name] = map[informer.Key]bool{}
	}
	c.givenOn[name][key] = true
	n := c.byName[name]
	c.place(n, p)
	c.apart, c.minding = c.apart+min(1, len(p.without)), c.minding+min(1, len(p.with)+len(p.likes))
	n.Promised = slices.DeleteFunc(n.Promised, func(q *Pod) bool { return q.UID == p.UID })
}

// refused takes back what was given to a pod: the server would not have it.
func (c *cluster) refused(key informer.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takeBack(key)
}

// late says that a pod has gone, or got a node from another one, before it got the one that it was given. The cache shows it by
// now, and the room is free; or will, and until then it is not: the other one may have given the same.
func (c *cluster) late(key informer.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g, ok := c.given[key]; ok {
		c.changed[g.node] = true
	}
}

func (c *cluster) takeBack(key informer.Key) bool {
	g, ok := c.given[key]
	if ok {
		c.changed[g.node] = true
		c.forgetGift(key)
	}
	return ok
}

// forget forgets a pod that waits no more.
func (c *cluster) forget(key informer.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, key)
}

// labelsOf are the labels of a namespace.
func (c *cluster) labelsOf(namespace string) labels.Set {
	if ns, ok := c.namespaces.Indexer().Get(informer.Key{Name: namespace}); ok {
		return ns.Labels
	}
	return nil
}
