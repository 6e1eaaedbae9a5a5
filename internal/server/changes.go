package server

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// changes notify admission plugins that objects of a resource have changed. There is one watch for each
// resource that a plugin tracks; it lives as long as the store.
type changes struct {
	mu      sync.Mutex
	watches map[schema.GroupResource]*store.Watch
}

var _ admission.Follower = reader{}

// Changes implements admission.Follower.
func (r reader) Changes(resource schema.GroupResource) (<-chan struct{}, error) {
	c := &r.s.changes
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.watches[resource]; w != nil {
		if passed(w) {
			return w.Changed(), nil
		}
		w.Stop()
	}
	w, err := r.s.store.Watch(object.Prefix(resource, ""), r.s.store.Current())
	if err != nil {
		return nil, wireError(err)
	}
	if c.watches == nil {
		c.watches = map[schema.GroupResource]*store.Watch{}
	}
	c.watches[resource] = w
	return w.Changed(), nil
}

// passed discards the events so far, and reports whether the watch is still usable: one that missed events is
// not.
func passed(w *store.Watch) bool {
	for {
		events, err := w.Take(1024)
		if err != nil {
			return false
		}
		if len(events) == 0 {
			return true
		}
	}
}
