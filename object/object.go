// Package object holds what the store keeps and the server serves: an immutable object with its header and its
// encodings, the keys that order objects, revisions, and the framing of objects for lists and watches.
//
// An object is encoded once, when it is committed; reads write those bytes. Nothing here knows a kind: what a kind must
// do to an object, decode it or write it in another form, comes in through Codec. The package is the lowest of the
// project: it imports none of the others.
package object

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Codec turns encodings of one kind into Go objects and back. A kind supplies it; it must be safe for concurrent use.
type Codec interface {
	// Decode makes the Go object that Object.Decode tells of. The data is an encoding that Encode made.
	Decode(form Form, data []byte) (runtime.Object, error)
	// Encode writes such an object in a form. resourceVersion is written as it stands in obj.
	Encode(form Form, obj runtime.Object) ([]byte, error)
	// Cache bounds the second encodings of this kind's objects.
	Cache() *Cache
}

// Changing is implemented by codecs that another takes the place of while the server runs: a definition changed, and what
// the one before it wrote reads otherwise from then on.
type Changing interface {
	// Latest is the codec that reads and writes now; itself as long as no other took its place.
	Latest() Codec
}

// Batcher is implemented by codecs that encode many objects at less cost than each alone.
type Batcher interface {
	// EncodeAll does for each object what Encode does, or nothing at all.
	EncodeAll(form Form, objects []runtime.Object) ([][]byte, error)
}

// Header is what the server knows of an object without decoding it.
type Header struct {
	Key  Key
	mark Mark // of the labels; beside the key, for quick scans
	// UID tells the object from others of the same key, before and after it.
	UID types.UID
	// Labels is nil when there are none.
	Labels map[string]string
	// Fields are the values of the kind's selectable fields but metadata.name and metadata.namespace, which are in the
	// key; nil when there are none.
	Fields map[string]string
	// Owners are the uids of metadata.ownerReferences; nil when there are none.
	Owners []types.UID
}

// Object is one state of one API object. It is immutable once committed: everything that it hands out is shared, and
// must not be changed.
type Object struct {
	Header
	// Revision is that of the commit that made this state; 0 before it is committed.
	Revision Revision

	codec   Codec
	first   Encoding
	more    atomic.Pointer[[]again]
	decoded atomic.Pointer[shared]
}

// again is an encoding beside the first, by the codec that made it.
type again struct {
	by Codec
	*Encoding
}

// shared is the Go object that all readers have, by the codec that read it.
type shared struct {
	by  Codec
	obj runtime.Object
}

// New makes an object that is not committed yet. The first encoding must carry RevisionPlaceholder, or any other
// digits, as its resourceVersion; the object owns its bytes from now on.
func New(header Header, codec Codec, first Encoding) *Object {
	header.mark = markOf(header.Labels)
	return &Object{Header: header, codec: codec, first: first}
}

// Stamp gives a new object the revision of its commit. Only the store calls it, before anybody else sees the object.
func (o *Object) Stamp(r Revision) error {
	o.Revision = r
	return o.first.stamp(r)
}

// At is the same object with another revision: what a watch shows of a deleted object is its last state, at the
// revision of its deletion.
func (o *Object) At(r Revision) (*Object, error) {
	first, err := o.first.restamped(r)
	if err != nil {
		return nil, err
	}
	return &Object{Header: o.Header, Revision: r, codec: o.codec, first: first}, nil
}

// Form is the form that the object was committed in.
func (o *Object) Form() Form { return o.first.Form }

// Size is what the object holds for as long as it lives, in bytes, to bound histories by.
func (o *Object) Size() int { return len(o.first.data) + len(o.Key) + objectOverhead }

// objectOverhead is what an object takes beside its bytes: the struct, the key, the uid, its place in a tree.
const objectOverhead = 300

// Stored is the encoding that was committed, which readers are served as long as its codec is the latest.
func (o *Object) Stored() *Encoding { return &o.first }

// Fresh says that a reader is served in a form what was committed, byte for byte.
func (o *Object) Fresh(form Form) bool { return o.first.Form == form && o.latest() == o.codec }

func (o *Object) latest() Codec {
	if c, ok := o.codec.(Changing); ok {
		return c.Latest()
	}
	return o.codec
}

// Encoding is the object in a form, made and kept when it is first asked for.
func (o *Object) Encoding(form Form) (*Encoding, error) {
	codec := o.latest()
	if e := o.made(form, codec); e != nil {
		return e, nil
	}
	obj, err := o.Decode()
	if err != nil {
		return nil, err
	}
	data, err := codec.Encode(form, obj)
	if err != nil {
		return nil, o.unwritable(form, err)
	}
	return o.keep(form, codec, data)
}

func (o *Object) unwritable(form Form, err error) error {
	return fmt.Errorf("%s: writing it as %s in %s: %w", o.Key, form.Format, form.APIVersion, err)
}

// made is the encoding in a form that there is already, or nil.
func (o *Object) made(form Form, codec Codec) *Encoding {
	if o.first.Form == form && codec == o.codec {
		return &o.first
	}
	more := o.more.Load()
	if more == nil {
		return nil
	}
	for _, e := range *more {
		if e.Form == form && e.by == codec {
			return e.Encoding
		}
	}
	return nil
}

// keep adds an encoding, charges it to the cache, and drops those of codecs that are replaced. One that says what the
// first says holds no bytes of its own.
func (o *Object) keep(form Form, codec Codec, data []byte) (*Encoding, error) {
	made := &o.first
	if form != o.first.Form || !bytes.Equal(data, o.first.data) {
		e, err := NewEncoding(form, data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Key, err)
		}
		made = &e
	}
	for {
		old := o.more.Load()
		var next []again
		if old != nil {
			next = slices.DeleteFunc(slices.Clone(*old), func(e again) bool { return e.by != codec })
		}
		next = append(next, again{codec, made})
		if !o.more.CompareAndSwap(old, &next) {
			continue
		}
		if made != &o.first {
			codec.Cache().charge(o, len(data))
		}
		return made, nil
	}
}

// Decode makes a Go object that belongs to the caller: in the kind's hub version, or, of a kind whose rules work in the
// version of the request, in the version that it is stored in.
func (o *Object) Decode() (runtime.Object, error) {
	obj, err := o.codec.Decode(o.first.Form, o.first.data)
	if err != nil {
		return nil, fmt.Errorf("%s at revision %d cannot be read back: %w", o.Key, o.Revision, err)
	}
	return obj, nil
}

// Decoded is the Go object that all readers in the process share, made when it is first asked for. The caller must
// not change it.
func (o *Object) Decoded() (runtime.Object, error) {
	codec := o.latest()
	have := o.decoded.Load()
	if have != nil && have.by == codec {
		return have.obj, nil
	}
	obj, err := o.Decode()
	if err != nil {
		return nil, err
	}
	if o.decoded.CompareAndSwap(have, &shared{codec, obj}) {
		return obj, nil
	}
	return o.decoded.Load().obj, nil
}
