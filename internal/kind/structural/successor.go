package structural

import "bytes"

// succeed makes d the successor of an earlier state of the definition. It reuses compiled schemas that have
// not changed.
func (d *definition) succeed(old *definition) {
	for _, k := range d.kinds {
		was := old.kind(k.version.apiVersion)
		if was != nil && d.preserve == old.preserve && bytes.Equal(k.version.raw, was.version.raw) {
			k.version.versionSchema = was.version.versionSchema
		}
	}
	old.successor.Store(d)
}

// latest returns the last successor of a definition, or d itself.
func (d *definition) latest() *definition {
	last := d
	for next := d.successor.Load(); next != nil; next = last.successor.Load() {
		last = next
	}
	if last != d {
		d.successor.Store(last) // shortens the next lookup
	}
	return last
}
