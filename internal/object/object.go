// Package object defines what the store holds and the server serves: immutable objects with their header and
// encodings, the keys that order objects, revisions, and the framing of objects in lists and watches.
//
// An object is encoded once, before it is committed, and reads return those bytes. The package knows no
// kinds: decoding an object and encoding it in another form are up to its Codec. The package imports no other
// package of this module.
package object

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Header is the part of an object that the server uses without decoding it.
type Header struct {
	Key  Key
	mark Mark // of the labels and pending initializers; next to the key for fast scans
	// UID distinguishes the object from earlier and later objects with the same key.
	UID types.UID
	// Labels is nil if there are none.
	Labels map[string]string
	// Fields has the values of the kind's selectable fields except metadata.name and metadata.namespace,
	// which are in the key; nil if there are none.
	Fields map[string]string
	// Owners has the UIDs of metadata.ownerReferences; nil if there are none.
	Owners []types.UID
}

// Object is one state of one API object. It is immutable once committed: everything it returns is shared and
// must not be modified.
type Object struct {
	Header
	// Revision is the revision of the commit that made this state; 0 before the commit.
	Revision Revision

	stamp   Stamp // of the codec that wrote the first encoding
	first   Encoding
	extra   atomic.Pointer[[]extraEncoding]
	decoded atomic.Pointer[shared]
}

// extraEncoding is an additional encoding and the stamp of the codec that made it.
type extraEncoding struct {
	by Stamp
	*Encoding
}

// shared is the Go object shared by all readers with codecs of the same stamp.
type shared struct {
	by  Stamp
	obj runtime.Object
}

// New returns an object that is not committed yet. The first encoding must have RevisionPlaceholder, or any
// other digits, as its resourceVersion; the object takes ownership of its bytes. codec is the one that
// encoded it, or nil if the object will never be decoded.
func New(header Header, codec Codec, first Encoding) *Object {
	header.setMark()
	o := &Object{Header: header, first: first}
	if codec != nil {
		o.stamp = codec.Stamp()
	}
	return o
}

// Ready returns an object that consists of a decoded Go object only. It has no encodings; Decoded with a
// codec of the same stamp returns obj.
func Ready(header Header, revision Revision, by Codec, obj runtime.Object) *Object {
	header.setMark()
	o := &Object{Header: header, Revision: revision, stamp: by.Stamp()}
	o.decoded.Store(&shared{o.stamp, obj})
	return o
}

// IsReady reports whether the object was made by Ready.
func (o *Object) IsReady() bool { return o.first.data == nil }

// Stamp sets the revision of a new object and of the Go object that was passed to Share. Only the store calls it,
// before the object is visible to readers.
func (o *Object) Stamp(r Revision) error {
	o.Revision = r
	if s := o.decoded.Load(); s != nil {
		if obj, ok := s.obj.(metav1.Object); ok {
			obj.SetResourceVersion(r.String())
		}
	}
	return o.first.stamp(r)
}

// At returns a copy of the object with another revision. The watch event of a deletion carries the last state
// at the revision of the deletion.
func (o *Object) At(r Revision) (*Object, error) {
	first, err := o.first.restamped(r)
	if err != nil {
		return nil, err
	}
	return &Object{Header: o.Header, Revision: r, stamp: o.stamp, first: first}, nil
}

// Form returns the form in which the object was committed.
func (o *Object) Form() Form { return o.first.Form }

// Size returns an estimate in bytes of the memory that the object holds for its lifetime. It bounds
// histories.
func (o *Object) Size() int { return len(o.first.data) + len(o.Key) + objectOverhead }

// objectOverhead estimates the memory of an object without its bytes: the struct, the key, the UID and its
// tree node.
const objectOverhead = 300

// Stored returns the encoding that was committed. Readers whose codec has the same stamp receive it
// unchanged.
func (o *Object) Stored() *Encoding { return &o.first }

// Fresh reports whether readers with the codec receive the committed bytes in form.
func (o *Object) Fresh(by Codec, form Form) bool {
	return o.stamp == by.Stamp() && o.first.Form == form
}

// Encoding returns the object in form as the codec encodes it. The encoding is made and cached on first use.
func (o *Object) Encoding(by Codec, form Form) (*Encoding, error) {
	if e := o.existing(by.Stamp(), form); e != nil {
		return e, nil
	}
	obj, err := o.Decode(by)
	if err != nil {
		return nil, err
	}
	data, err := by.Encode(form, obj)
	if err != nil {
		return nil, o.encodeError(form, err)
	}
	return o.cacheEncoding(by, form, data)
}

func (o *Object) encodeError(form Form, err error) error {
	return fmt.Errorf("%s: encoding it as %s in %s: %w", o.Key, form.Format, form.APIVersion, err)
}

// existing returns the committed or a cached encoding in form, or nil.
func (o *Object) existing(by Stamp, form Form) *Encoding {
	if o.stamp == by && o.first.Form == form {
		return &o.first
	}
	more := o.extra.Load()
	if more == nil {
		return nil
	}
	for _, e := range *more {
		if e.by == by && e.Form == form {
			return e.Encoding
		}
	}
	return nil
}

// maxStale is the number of additional encodings at which those of other codecs are dropped. Most of them
// belong to definitions that have changed, some to a server with another definition that shares the object.
const maxStale = 8

// cacheEncoding caches an additional encoding and charges it to the cache. One that equals the first encoding shares
// its bytes.
func (o *Object) cacheEncoding(by Codec, form Form, data []byte) (*Encoding, error) {
	made := &o.first
	if form != o.first.Form || !bytes.Equal(data, o.first.data) {
		e, err := NewEncoding(form, data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Key, err)
		}
		made = &e
	}
	stamp := by.Stamp()
	for {
		old := o.extra.Load()
		var next []extraEncoding
		if old != nil {
			next = slices.Clone(*old)
		}
		if len(next) >= maxStale {
			next = slices.DeleteFunc(next, func(e extraEncoding) bool { return e.by != stamp })
		}
		next = append(next, extraEncoding{stamp, made})
		if !o.extra.CompareAndSwap(old, &next) {
			continue
		}
		if made != &o.first {
			by.Cache().charge(o, len(data))
		}
		return made, nil
	}
}

// Decode returns a new Go object that the caller owns. It is in the kind's hub version, or in the stored
// version if the kind's rules work in the version of the request.
func (o *Object) Decode(by Codec) (runtime.Object, error) {
	obj, err := o.read(by)
	if err != nil {
		return nil, o.decodeError(err)
	}
	return obj, nil
}

func (o *Object) decodeError(err error) error {
	return fmt.Errorf("%s at revision %d cannot be decoded: %w", o.Key, o.Revision, err)
}

func (o *Object) read(by Codec) (runtime.Object, error) {
	if o.IsReady() {
		return o.decoded.Load().obj.DeepCopyObject(), nil
	}
	if o.stamp != by.Stamp() {
		if a, ok := by.(Adopter); ok {
			return a.Adopt(o.first.Form, o.first.data)
		}
	}
	return by.Decode(o.first.Form, o.first.data)
}

// readShared decodes an object that no caller will modify.
func (o *Object) readShared(by Codec) (runtime.Object, error) {
	if s, ok := by.(Sharer); ok && o.stamp == by.Stamp() && !o.IsReady() {
		return s.DecodeShared(&o.first)
	}
	return o.read(by)
}

// Decoded returns the decoded Go object shared by all readers whose codecs have the same stamp. It is decoded
// on first use. The caller must not modify it; with some codecs, other objects share parts of it.
func (o *Object) Decoded(by Codec) (runtime.Object, error) {
	stamp := by.Stamp()
	have := o.decoded.Load()
	if have != nil && have.by == stamp {
		return have.obj, nil
	}
	obj, err := o.readShared(by)
	if err != nil {
		return nil, o.decodeError(err)
	}
	for !o.decoded.CompareAndSwap(have, &shared{stamp, obj}) {
		if have = o.decoded.Load(); have != nil && have.by == stamp {
			return have.obj, nil
		}
	}
	return obj, nil
}

// Share lets Decoded return obj to readers of o with the codec, unless o has been decoded already. obj is what decoding
// o would return, except that Stamp sets its resourceVersion if o is not committed yet. The caller must not modify it
// any more.
func Share(o *Object, by Codec, obj runtime.Object) {
	o.decoded.CompareAndSwap(nil, &shared{by.Stamp(), obj})
}
