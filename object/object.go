// Package object holds what the store keeps and the server serves: an immutable object with its header and its
// encodings, the keys that order objects, revisions, and the framing of objects for lists and watches.
//
// An object is encoded once, when it is committed; reads write those bytes. Nothing here knows a kind: what a kind must
// do to an object, decode it or write it in another form, comes in through Codec. The package is the lowest of the
// project: it imports none of the others.
package object

import (
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Codec turns encodings of one kind into Go objects and back. A kind supplies it; it must be safe for concurrent use.
type Codec interface {
	// Decode makes the Go object, in the kind's hub version. The data is an encoding that Encode made.
	Decode(form Form, data []byte) (runtime.Object, error)
	// Encode writes a hub object in a form. resourceVersion is written as it stands in obj.
	Encode(form Form, obj runtime.Object) ([]byte, error)
	// Cache bounds the second encodings of this kind's objects.
	Cache() *Cache
}

// Header is what the server knows of an object without decoding it.
type Header struct {
	Key Key
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
	more    atomic.Pointer[[]*Encoding]
	decoded atomic.Pointer[runtime.Object]
}

// New makes an object that is not committed yet. The first encoding must carry RevisionPlaceholder, or any other
// digits, as its resourceVersion; the object owns its bytes from now on.
func New(header Header, codec Codec, first Encoding) *Object {
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

// Encoding is the object in a form, made and kept when it is first asked for.
func (o *Object) Encoding(form Form) (*Encoding, error) {
	if o.first.Form == form {
		return &o.first, nil
	}
	if e := o.kept(form); e != nil {
		return e, nil
	}
	obj, err := o.Decode()
	if err != nil {
		return nil, err
	}
	data, err := o.codec.Encode(form, obj)
	if err != nil {
		return nil, fmt.Errorf("%s: writing it as %s in %s: %w", o.Key, form.Format, form.APIVersion, err)
	}
	e, err := NewEncoding(form, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Key, err)
	}
	o.keep(&e)
	return &e, nil
}

// kept is the second encoding in a form, or nil.
func (o *Object) kept(form Form) *Encoding {
	more := o.more.Load()
	if more == nil {
		return nil
	}
	for _, e := range *more {
		if e.Form == form {
			return e
		}
	}
	return nil
}

// keep adds a second encoding and charges it to the cache.
func (o *Object) keep(e *Encoding) {
	for {
		old := o.more.Load()
		var next []*Encoding
		if old != nil {
			next = append(next, *old...)
		}
		next = append(next, e)
		if o.more.CompareAndSwap(old, &next) {
			o.codec.Cache().charge(o, len(e.data))
			return
		}
	}
}

// Decode makes a Go object of the hub version that belongs to the caller.
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
	if p := o.decoded.Load(); p != nil {
		return *p, nil
	}
	obj, err := o.Decode()
	if err != nil {
		return nil, err
	}
	if o.decoded.CompareAndSwap(nil, &obj) {
		return obj, nil
	}
	return *o.decoded.Load(), nil
}
