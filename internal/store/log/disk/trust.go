package disk

import "strings"

// trust lets the files go that were to be removed, and those that will be: all that was acknowledged is there without them. Until
// then a start that is refused leaves every file, those that it made new ones of too.
func (g *guard) trust() {
	g.mu.Lock()
	kept := g.kept
	g.trusted, g.kept = true, nil
	g.mu.Unlock()
	for _, name := range kept {
		_ = g.Remove(name) // what is missing has gone, and any other failure stops the guard
	}
}

// keeps says whether a file is to stay that would be removed, and remembers it. Of the markers only the newest counts.
func (g *guard) keeps(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.trusted || strings.HasPrefix(g.FS.PathBase(name), "marker.") {
		return false
	}
	g.kept = append(g.kept, name)
	return true
}
