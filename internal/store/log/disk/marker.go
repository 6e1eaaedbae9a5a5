package disk

import "strings"

// before makes durable what a change of a file relies on, before it. A marker says which file holds the list of all others:
// Pebble makes that file, then its marker, and removes the marker before it, with no sync of the folder between, so that a
// crash could leave a marker whose file is not there, or none.
func (g *guard) before(name string) error {
	if !strings.HasPrefix(g.FS.PathBase(name), "marker.") {
		return nil
	}
	return syncFolder(g.FS, g.FS.PathDir(name))
}
