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

// Header is what the server knows of an object without decoding it.
type Header struct {
	Key  Key
	mark Mark // of the labels, and of being uninitialized; beside the key, for quick scans
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

	stamp   Stamp // of the codec that wrote the first encoding
	first   Encoding
	more    atomic.Pointer[[]again]
	decoded atomic.Pointer[shared]
}

// again is an encoding beside the first, by what codec made it.
type again struct {
	by Stamp
	*Encoding
}

// shared is the Go object that all readers of a stamp have.
type shared struct {
	by  Stamp
	obj runtime.Object
}

// New makes an object that is not committed yet. The first encoding must carry RevisionPlaceholder, or any other
// digits, as its resourceVersion; the object owns its bytes from now on. The codec wrote them; nil when none did, and
// nobody will decode the object.
func New(header Header, codec Codec, first Encoding) *Object {
	header.setMark()
	o := &Object{Header: header, first: first}
	if codec != nil {
		o.stamp = codec.Stamp()
	}
	return o
}

// Ready is an object that somebody has made a Go object of already, of which nothing else is kept: it has no bytes, and
// Decoded by a codec of the stamp is that Go object.
func Ready(header Header, revision Revision, by Codec, obj runtime.Object) *Object {
	header.setMark()
	o := &Object{Header: header, Revision: revision, stamp: by.Stamp()}
	o.decoded.Store(&shared{o.stamp, obj})
	return o
}

// IsReady says whether the object is one of Ready.
func (o *Object) IsReady() bool { return o.first.data == nil }

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
	return &Object{Header: o.Header, Revision: r, stamp: o.stamp, first: first}, nil
}

// Form is the form that the object was committed in.
func (o *Object) Form() Form { return o.first.Form }

// Size is what the object holds for as long as it lives, in bytes, to bound histories by.
func (o *Object) Size() int { return len(o.first.data) + len(o.Key) + objectOverhead }

// objectOverhead is what an object takes beside its bytes: the struct, the key, the uid, its place in a tree.
const objectOverhead = 300

// Stored is the encoding that was committed, which readers are served as long as their codec has its writer's stamp.
func (o *Object) Stored() *Encoding { return &o.first }

// Fresh says that readers by a codec are served in a form what was committed, byte for byte.
func (o *Object) Fresh(by Codec, form Form) bool {
	return o.stamp == by.Stamp() && o.first.Form == form
}

// Encoding is the object in a form, as a codec writes it: made and kept when it is first asked for.
func (o *Object) Encoding(by Codec, form Form) (*Encoding, error) {
	if e := o.made(by.Stamp(), form); e != nil {
		return e, nil
	}
	obj, err := o.Decode(by)
	if err != nil {
		return nil, err
	}
	data, err := by.Encode(form, obj)
	if err != nil {
		return nil, o.unwritable(form, err)
	}
	return o.keep(by, form, data)
}

func (o *Object) unwritable(form Form, err error) error {
	return fmt.Errorf("%s: writing it as %s in %s: %w", o.Key, form.Format, form.APIVersion, err)
}

// made is the encoding in a form that there is already, or nil.
func (o *Object) made(by Stamp, form Form) *Encoding {
	if o.stamp == by && o.first.Form == form {
		return &o.first
	}
	more := o.more.Load()
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

// mostStale is how many encodings an object keeps beside the first before those of other codecs are dropped: most are of
// definitions that changed, some of another server that shares the object and has another definition.
const mostStale = 8

// keep adds an encoding and charges it to the cache. One that says what the first says holds no bytes of its own.
func (o *Object) keep(by Codec, form Form, data []byte) (*Encoding, error) {
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
		old := o.more.Load()
		var next []again
		if old != nil {
			next = slices.Clone(*old)
		}
		if len(next) >= mostStale {
			next = slices.DeleteFunc(next, func(e again) bool { return e.by != stamp })
		}
		next = append(next, again{stamp, made})
		if !o.more.CompareAndSwap(old, &next) {
			continue
		}
		if made != &o.first {
			by.Cache().charge(o, len(data))
		}
		return made, nil
	}
}

// Decode makes a Go object that belongs to the caller: in the kind's hub version, or, of a kind whose rules work in the
// version of the request, in the version that it is stored in.
func (o *Object) Decode(by Codec) (runtime.Object, error) {
	obj, err := o.read(by)
	if err != nil {
		return nil, o.unreadable(err)
	}
	return obj, nil
}

func (o *Object) unreadable(err error) error {
	return fmt.Errorf("%s at revision %d cannot be read back: %w", o.Key, o.Revision, err)
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

// readShared is read of what nobody will change.
func (o *Object) readShared(by Codec) (runtime.Object, error) {
	if s, ok := by.(Sharer); ok && o.stamp == by.Stamp() && !o.IsReady() {
		return s.DecodeShared(&o.first)
	}
	return o.read(by)
}

// Decoded is the Go object that all who read by codecs of one stamp share, made when it is first asked for. The caller must
// not change it: of some codecs, other objects share parts of it.
func (o *Object) Decoded(by Codec) (runtime.Object, error) {
	stamp := by.Stamp()
	have := o.decoded.Load()
	if have != nil && have.by == stamp {
		return have.obj, nil
	}
	obj, err := o.readShared(by)
	if err != nil {
		return nil, o.unreadable(err)
	}
	for !o.decoded.CompareAndSwap(have, &shared{stamp, obj}) {
		if have = o.decoded.Load(); have != nil && have.by == stamp {
			return have.obj, nil
		}
	}
	return obj, nil
}
