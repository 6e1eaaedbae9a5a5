package resourcequota

import (
	"sync"
	"time"

	"github.com/bowline-dev/bowline/informer"
)

// pauseFactor is the length of the pause after a count, in multiples of the count's duration. It bounds the share of a
// core that one quota takes while its objects change all the time: a count reads every object.
const pauseFactor = 4

// pauses delays the next counts of quotas. The zero value is ready to use.
type pauses struct {
	mu    sync.Mutex
	until map[informer.Key]time.Time
}

// counted starts the pause after a count.
func (p *pauses) counted(quota informer.Key, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if took <= batchDelay/pauseFactor { // the delay before the next count is long enough
		delete(p.until, quota)
		return
	}
	if p.until == nil {
		p.until = map[informer.Key]time.Time{}
	}
	p.until[quota] = time.Now().Add(pauseFactor * took)
}

// forget forgets a quota that was deleted.
func (p *pauses) forget(quota informer.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.until, quota)
}

// next returns the time until a quota is counted because of a change.
func (p *pauses) next(quota informer.Key) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(batchDelay, time.Until(p.until[quota]))
}
