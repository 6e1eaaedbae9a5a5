package structural

import (
	"bytes"
	"testing"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// TestShareMemory checks that ShareMemory makes the schemas share the memory of a stored
// definition, and that it changes nothing for an encoding that does not contain them.
func TestShareMemory(t *testing.T) {
	t.Parallel()
	crd := parseDefinition(t, widget)
	made, err := New(object.NewCache(1<<20), crd, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []object.Format{object.Protobuf, object.JSON} {
		data, err := kind.Marshal(format, crd)
		if err != nil {
			t.Fatal(err)
		}
		before := map[string][]byte{}
		for _, k := range made.kinds {
			before[k.version.name] = bytes.Clone(k.version.raw)
		}
		made.ShareMemory(data)
		for _, k := range made.kinds {
			raw := made.RawSchema(k.version.name)
			if !bytes.Equal(raw, before[k.version.name]) {
				t.Errorf("%s, version %s: the schema reads back as %s", format, k.version.name, raw)
			}
			at := bytes.Index(data, raw)
			if within := at >= 0 && &data[at] == &raw[0]; within != (format == object.JSON) {
				t.Errorf("%s, version %s: the schema shares the memory of the encoding: %t", format, k.version.name,
					within)
			}
		}
	}
}
