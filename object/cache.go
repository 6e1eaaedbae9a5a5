package object

import (
	"sync"
	"weak"
)

// Cache bounds what the second encodings of a server's objects may hold: when the budget is used up, those that were
// made first are dropped, and made again when they are asked for again.
type Cache struct {
	budget int

	mu    sync.Mutex
	used  int
	queue []charged
}

// charged points to its object weakly: one that nobody else holds any more goes with its encodings, and its bytes are
// counted until their turn comes.
type charged struct {
	object weak.Pointer[Object]
	bytes  int
}

// NewCache makes a cache of at most budget bytes.
func NewCache(budget int) *Cache { return &Cache{budget: budget} }

// charge counts bytes to an object, and drops the oldest encodings until the budget holds again.
func (c *Cache) charge(o *Object, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used += bytes
	c.queue = append(c.queue, charged{weak.Make(o), bytes})
	drop := 0
	for c.used > c.budget && drop < len(c.queue) {
		if o := c.queue[drop].object.Value(); o != nil {
			o.more.Store(nil)
		}
		c.used -= c.queue[drop].bytes
		c.queue[drop] = charged{}
		drop++
	}
	c.queue = c.queue[drop:]
}

// Used is how many bytes the second encodings hold.
func (c *Cache) Used() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}
