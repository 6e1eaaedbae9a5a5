package disk

import "strings"

// syncBeforeMarker syncs the directory before a change to a marker, which names the current MANIFEST. Pebble creates
// the MANIFEST, then its marker, and then removes the previous marker, without syncing the directory in
// between; a crash could leave a marker whose file is missing, or no marker.
func (g *guard) syncBeforeMarker(name string) error {
	if !strings.HasPrefix(g.FS.PathBase(name), "marker.") {
		return nil
	}
	return syncFolder(g.FS, g.FS.PathDir(name))
}
