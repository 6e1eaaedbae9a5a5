package server

import (
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/object"
)

// decoded makes an object that the caller may change: in its kind's hub version, or, of a Versioned kind, in the version
// that it is stored in, which its metadata may be read from.
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

// read makes an object that the caller may change, in the version that the kind's rules work in.
func read(k kind.Kind, o *object.Object) (kind.Object, error) {
	v, ok := k.(kind.Versioned)
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

// codec is what stored objects of the call's kind are read by: as a definition says now, which may be newer than the call.
func (c *call) codec() object.Codec { return kind.CodecOf(c.kind) }

// shown is an object whose labels and fields are those of the version that the call asks for: a conversion may have
// changed them, and a field may be selectable in one version alone.
func (c *call) shown(codec object.Codec, o *object.Object) (*object.Object, error) {
	v, ok := c.kind.(kind.Versioned)
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

// convert makes the encodings that selecting from a snapshot needs, from a key on, many at once.
func (c *call) convert(snapshot *store.Snapshot, selected *selection, from object.Key) error {
	v, ok := c.kind.(kind.Versioned)
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
