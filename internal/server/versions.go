package server

import (
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// decoded decodes a stored object for the caller to change: into the kind's hub version, or, for a custom
// resource, into the version that it is stored in, which is sufficient to read its metadata.
func decoded(k kind.Kind, o *object.Object) (kind.Object, error) {
	return decodedBy(kind.CodecOf(k), o)
}

func decodedBy(codec object.Codec, o *object.Object) (kind.Object, error) {
	obj, err := o.Decode(codec)
	if err != nil {
		return nil, err
	}
	return obj.(kind.Object), nil
}

// read decodes a stored object for the caller to change, into the version that the kind's rules work on.
func read(k kind.Kind, o *object.Object) (kind.Object, error) {
	v, ok := k.(kind.Custom)
	if !ok {
		return decodedBy(k, o)
	}
	codec, form := v.Codec(), object.Form{APIVersion: v.APIVersion()}
	if o.Fresh(codec, form) {
		return decodedBy(codec, o)
	}
	e, err := o.Encoding(codec, form)
	if err != nil {
		return nil, err
	}
	obj, err := codec.Decode(form, e.Bytes())
	if err != nil {
		return nil, err
	}
	return obj.(kind.Object), nil
}

// codec returns the codec of stored objects of the kind: that of the newest definition, which may be newer
// than the call.
func (c *call) codec() object.Codec { return kind.CodecOf(c.kind) }

// shown returns an object whose header has the labels and fields of the requested version: a conversion may
// change them, and a field may be selectable in one version only.
func (c *call) shown(codec object.Codec, o *object.Object) (*object.Object, error) {
	v, ok := c.kind.(kind.Custom)
	if !ok {
		return o, nil
	}
	form := object.Form{APIVersion: v.APIVersion()}
	if o.Fresh(codec, form) {
		return o, nil
	}
	obj, err := read(c.kind, o)
	if err != nil {
		return nil, err
	}
	e, err := o.Encoding(codec, form)
	if err != nil {
		return nil, err
	}
	other := object.New(header(c.kind, obj), codec, *e)
	other.Revision = o.Revision
	return other, nil
}

// convert encodes the objects from a key on that a selector has to see converted, with one request to the
// converter.
func (c *call) convert(snapshot *store.Snapshot, selected *selection, from object.Key) error {
	v, ok := c.kind.(kind.Custom)
	if !ok || selected.everything() {
		return nil
	}
	codec, form := v.Codec(), object.Form{APIVersion: v.APIVersion()}
	var others []*object.Object
	snapshot.Scan(selected.prefix, from, func(o *object.Object) bool {
		if !o.Fresh(codec, form) {
			others = append(others, o)
		}
		return true
	})
	_, err := object.Encodings(others, codec, form)
	return err
}
