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
		return fmt.Errorf("got %d nodes (%d by name), want %d; got %d reservations, want none", len(c.all),
			len(c.byName),
			c.nodes.Indexer().Len(), len(c.reserved))
	}
	for _, recorded := range c.pending {
		for key, pod := range recorded {
			if now, found := c.pods.Indexer().Get(key); !found || now.UID != pod.UID || !pending(now) {
				return fmt.Errorf("pod %s is recorded as pending, but is not", key)
			}
		}
	}
	antiAffinity, placed := 0, 0
	for _, n := range c.all {
		fresh := NewNode(n.Node)
		for pod := range c.pods.Indexer().Each(byNode, n.Name) {
			if !pods.IsTerminal(pod) {
				fresh.add(NewPod(pod))
			}
		}
		antiAffinity, placed = antiAffinity+len(fresh.antiAffinity), placed+len(fresh.Pods)
		if got, want := keys(n.Pods), keys(fresh.Pods); !maps.Equal(got, want) {
			return fmt.Errorf("node %s: got pods %v, want %v", n.Name, got, want)
		}
		if n.used.cpu != fresh.used.cpu || len(n.antiAffinity) != len(fresh.antiAffinity) ||
			!maps.Equal(n.owners, fresh.owners) {
			return fmt.Errorf("node %s: got used resources %+v, want %+v", n.Name, n.used, fresh.used)
		}
		nominated := 0
		for pod := range c.pods.Indexer().Each(byNomination, n.Name) {
			if pod.DeletionTimestamp == nil && !pods.IsTerminal(pod) {
				nominated++
			}
		}
		if nominated != len(n.Nominated) {
			return fmt.Errorf("node %s: got %d nominated pods, want %d", n.Name, len(n.Nominated), nominated)
		}
	}
	if c.antiAffinity != antiAffinity || len(c.placed) != placed {
		return fmt.Errorf("got %d pods with anti-affinity of %d, want %d of %d", c.antiAffinity, len(c.placed),
			antiAffinity,
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
