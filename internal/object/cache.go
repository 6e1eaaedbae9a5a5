package object

import (
	"sync"
	"weak"
)

// Cache bounds the memory of a server's additional encodings, those in other forms than an object was
// committed in. When the budget is exceeded, the oldest encodings are dropped; they are made again on demand.
// A Cache is safe for concurrent use.
type Cache struct {
	budget int

	mu    sync.Mutex
	used  int
	queue []charged
}

// charged holds its object weakly, so that the cache does not keep an object alive. The bytes of a collected
// object stay counted until its entry reaches the front of the queue.
type charged struct {
	object weak.Pointer[Object]
	bytes  int
}

// NewCache returns a cache with a budget in bytes.
func NewCache(budget int) *Cache { return &Cache{budget: budget} }

// charge adds bytes to the usage and drops the oldest encodings while the usage exceeds the budget.
func (c *Cache) charge(o *Object, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used += bytes
	c.queue = append(c.queue, charged{weak.Make(o), bytes})
	drop := 0
	for c.used > c.budget && drop < len(c.queue) {
		if o := c.queue[drop].object.Value(); o != nil {
			o.extra.Store(nil)
		}
		c.used -= c.queue[drop].bytes
		c.queue[drop] = charged{}
		drop++
	}
	c.queue = c.queue[drop:]
}

// Used returns the number of bytes charged to the cache.
func (c *Cache) Used() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}
