package disk

import "strings"

// trust performs the deferred removals and allows later ones, because the database is known to hold all
// acknowledged commits without these files. Until then, if a start is refused, every file remains,
// including those that the start has rewritten.
func (g *guard) trust() {
	g.mu.Lock()
	kept := g.kept
	g.trusted, g.kept = true, nil
	g.mu.Unlock()
	for _, name := range kept {
		_ = g.Remove(name) // a missing file is already removed; any other failure stops the guard
	}
}

// keeps reports whether the removal of a file is deferred, and records it if so. Markers are removed
// immediately, because only the newest is valid.
func (g *guard) keeps(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.trusted || strings.HasPrefix(g.FS.PathBase(name), "marker.") {
		return false
	}
	g.kept = append(g.kept, name)
	return true
}
