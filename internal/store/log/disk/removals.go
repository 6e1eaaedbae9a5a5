package disk

import "strings"

// allowRemovals performs the deferred removals and allows later ones, because the database is known to hold all
// acknowledged commits without these files. Until then, if a start is refused, every file remains,
// including those that the start has rewritten.
func (g *guard) allowRemovals() {
	g.mu.Lock()
	kept := g.deferred
	g.removalsAllowed, g.deferred = true, nil
	g.mu.Unlock()
	for _, name := range kept {
		_ = g.Remove(name) // a missing file is already removed; any other failure stops the guard
	}
}

// defersRemoval reports whether the removal of a file is deferred, and records it if so. Markers are removed
// immediately, because only the newest is valid.
func (g *guard) defersRemoval(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.removalsAllowed || strings.HasPrefix(g.FS.PathBase(name), "marker.") {
		return false
	}
	g.deferred = append(g.deferred, name)
	return true
}
