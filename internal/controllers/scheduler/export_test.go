package scheduler

import (
	"fmt"
	"maps"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// AddChecked is Add, and returns a function that compares the scheduler's state with its caches. It may only
// be called when the plane is idle.
func AddChecked(m *controller.Manager) (check func() error) {
	s, _ := add(m)
	return s.check
}

func (c *cluster) check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sync()
	if len(c.all) != c.nodes.Indexer().Len() || len(c.byName) != len(c.all) || len(c.reserved)+len(c.reservedOn) > 0 {
		return fmt.Errorf("%d nodes (%d by name) of %d, %d pods given", len(c.all), len(c.byName),
			c.nodes.Indexer().Len(), len(c.reserved))
	}
	for _, asking := range c.pending {
		for key, pod := range asking {
			if now, there := c.pods.Indexer().Get(key); !there || now.UID != pod.UID || !pending(now) {
				return fmt.Errorf("pod %s is thought to ask for a node", key)
			}
		}
	}
	apart, placed := 0, 0
	for _, n := range c.all {
		fresh := NewNode(n.Node)
		for pod := range c.pods.Indexer().Each(byNode, n.Name) {
			if !pods.IsTerminal(pod) {
				fresh.add(NewPod(pod))
			}
		}
		apart, placed = apart+len(fresh.antiAffinity), placed+len(fresh.Pods)
		if is, want := keys(n.Pods), keys(fresh.Pods); !maps.Equal(is, want) {
			return fmt.Errorf("node %s has the pods %v, and should have %v", n.Name, is, want)
		}
		if n.used.cpu != fresh.used.cpu || len(n.antiAffinity) != len(fresh.antiAffinity) ||
			!maps.Equal(n.owners, fresh.owners) {
			return fmt.Errorf("node %s counts %+v, and should count %+v", n.Name, n.used, fresh.used)
		}
		promised := 0
		for pod := range c.pods.Indexer().Each(byNomination, n.Name) {
			if pod.DeletionTimestamp == nil && !pods.IsTerminal(pod) {
				promised++
			}
		}
		if promised != len(n.Nominated) {
			return fmt.Errorf("node %s is promised to %d, and should be to %d", n.Name, len(n.Nominated), promised)
		}
	}
	if c.antiAffinity != apart || len(c.placed) != placed {
		return fmt.Errorf("%d pods want to be apart, of %d; should be %d of %d", c.antiAffinity, len(c.placed), apart,
			placed)
	}
	return nil
}

func keys(all []*Pod) map[informer.Key]bool {
	found := map[informer.Key]bool{}
	for _, p := range all {
		found[informer.KeyOf(p.Pod)] = true
	}
	return found
}
