package structural

import (
	"bytes"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/bowline-dev/bowline/object"
)

// succeed makes d the successor of an earlier state of the definition, and takes over what has not changed: schemas that are
// compiled already, and, where d reads them as they are, its objects.
func (d *definition) succeed(old *definition) {
	same := d.preserve == old.preserve && equality.Semantic.DeepEqual(d.conversion, old.conversion)
	for _, k := range d.kinds {
		was := old.kind(k.version.apiVersion)
		if was == nil {
			continue
		}
		if d.preserve == old.preserve && bytes.Equal(k.version.raw, was.version.raw) {
			k.version.versionSchema = was.version.versionSchema
		}
	}
	for _, was := range old.kinds {
		k := d.kind(was.version.apiVersion)
		same = same && k != nil && k.version.versionSchema == was.version.versionSchema && sameFields(k.fields, was.fields)
	}
	if same {
		d.alike = old.alike
	}
	old.successor.Store(d)
}

// latest is the last successor of a definition, or itself.
func (d *definition) latest() *definition {
	last := d
	for next := d.successor.Load(); next != nil; next = last.successor.Load() {
		last = next
	}
	if last != d {
		d.successor.Store(last) // the way is short the next time
	}
	return last
}

// Latest implements object.Changing.
func (d *definition) Latest() object.Codec { return d.latest().alike }
