package disk

import "strings"

// allowRemovals performs the deferred removals and allows later ones. The caller has verified that the database holds
// all acknowledged commits without these files. If the log rejects the database instead, every file remains, even one
// whose contents Pebble has written to new files.
func (g *guard) allowRemovals() {
	g.mu.Lock()
	deferred := g.deferred
	g.removalsAllowed, g.deferred = true, nil
	g.mu.Unlock()
	for _, name := range deferred {
		_ = g.Remove(name) // a missing file is already removed; any other failure stops the guard
	}
}

// deferRemoval records a removal for allowRemovals, and reports whether it did. Markers are removed
// immediately, because only the newest is valid.
func (g *guard) deferRemoval(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.removalsAllowed || strings.HasPrefix(g.FS.PathBase(name), "marker.") {
		return false
	}
	g.deferred = append(g.deferred, name)
	return true
}
