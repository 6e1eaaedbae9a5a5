package garbagecollector

import "github.com/bowline-dev/bowline/controller"

// AddWatched is Add, and also returns a function that counts the objects that wait for the kinds of their
// owners to be served.
func AddWatched(m *controller.Manager) (added *controller.Controller, waiting func() int) {
	c := newCollector(m)
	return c.add(m), func() (count int) {
		c.mu.RLock()
		defer c.mu.RUnlock()
		for _, requests := range c.unserved {
			count += len(requests)
		}
		return count
	}
}
