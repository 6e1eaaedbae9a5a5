package object

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/watch"
)

// Event is one change to one object. Events are immutable and shared by all watchers.
type Event struct {
	// Object is the state after the change. For a deletion, it is the last state, at the revision of the
	// deletion.
	Object *Object
	// Previous is the state before the change; nil if the change created the object.
	Previous *Object
	// Deleted is set if the change removed the object.
	Deleted bool

	// frames caches the encoded frames; &dropped once DropFrames was called.
	frames atomic.Pointer[[]*frame]
}

// Revision returns the revision of the commit that made the change.
func (e *Event) Revision() Revision { return e.Object.Revision }

// Key returns the key of the changed object.
func (e *Event) Key() Key { return e.Object.Key }

// Type returns the event type for a watcher of all objects.
func (e *Event) Type() watch.EventType {
	switch {
	case e.Deleted:
		return watch.Deleted
	case e.Previous == nil:
		return watch.Added
	}
	return watch.Modified
}

// TypeFor returns the event type for a watcher of the objects that match: an object that begins to match is
// added, one that no longer matches is deleted. The second result is false if the watcher does not observe
// the change.
func (e *Event) TypeFor(matches func(*Object) bool) (watch.EventType, bool) {
	before := e.Previous != nil && matches(e.Previous)
	after := !e.Deleted && matches(e.Object)
	switch {
	case before && after:
		return watch.Modified, true
	case after:
		return watch.Added, true
	case before:
		return watch.Deleted, true
	}
	return "", false
}

// frame is an event encoded once for all watchers that use the same form and codecs of the same stamp.
type frame struct {
	by   Stamp
	kind watch.EventType
	form Form
	// ready is closed when bytes or err is set.
	ready chan struct{}
	bytes []byte
	err   error
}

// Frame returns the event encoded for a watch in form, using codec by. It is encoded once and shared;
// concurrent callers wait for the first one. The caller must not modify the result. If an update makes an
// object stop matching a watcher's selector, the frame of kind watch.Deleted holds the previous state at the
// new revision.
func (e *Event) Frame(by Codec, kind watch.EventType, form Form) ([]byte, error) {
	f, mine := e.frame(by.Stamp(), kind, form)
	if !mine {
		<-f.ready
		return f.bytes, f.err
	}
	defer close(f.ready)
	f.err = fmt.Errorf("%s: encoding its event of revision %d panicked", e.Key(), e.Revision()) // if encode panics
	if f.bytes, f.err = e.encode(by, kind, form); f.err != nil {
		e.removeFrame(f)
	}
	return f.bytes, f.err
}

func (e *Event) encode(by Codec, kind watch.EventType, form Form) ([]byte, error) {
	shown, err := e.Shown(kind)
	if err != nil {
		return nil, err
	}
	enc, err := shown.Encoding(by, form)
	if err != nil {
		return nil, err
	}
	return AppendFrame(nil, kind, form.Format, enc.Bytes()), nil
}

// Shown returns the state that an event of the given type carries; see Frame.
func (e *Event) Shown(kind watch.EventType) (*Object, error) {
	if kind == watch.Deleted && !e.Deleted {
		return e.Previous.At(e.Revision())
	}
	return e.Object, nil
}

// frame returns the cached frame, or a new one that the caller must encode, for which mine is true.
func (e *Event) frame(by Stamp, kind watch.EventType, form Form) (f *frame, mine bool) {
	for {
		old := e.frames.Load()
		var next []*frame
		if old != nil {
			for _, f := range *old {
				if f.by == by && f.kind == kind && f.form == form {
					return f, false
				}
			}
			next = append(next, *old...)
		}
		f = &frame{by: by, kind: kind, form: form, ready: make(chan struct{})}
		next = append(next, f)
		if old == &dropped || e.frames.CompareAndSwap(old, &next) {
			return f, true
		}
	}
}

// removeFrame removes a frame that could not be encoded, so that the next watcher retries.
func (e *Event) removeFrame(f *frame) {
	for {
		old := e.frames.Load()
		if old == nil || old == &dropped {
			return
		}
		next := slices.DeleteFunc(slices.Clone(*old), func(other *frame) bool { return other == f })
		if e.frames.CompareAndSwap(old, &next) {
			return
		}
	}
}

// DropFrames releases the cached frames and disables caching for this event, because watchers rarely read an
// old event at the same time. The store calls it.
func (e *Event) DropFrames() { e.frames.Store(&dropped) }

// dropped replaces the frames of an event that no longer caches them.
var dropped []*frame

// AppendFrame appends one event of a watch stream around an encoded object: a JSON line, or a length-prefixed
// WatchEvent message.
func AppendFrame(dst []byte, kind watch.EventType, format Format, object []byte) []byte {
	if format == Protobuf {
		return append(dst, protobufFrame(kind, object)...)
	}
	dst = append(dst, `{"type":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","object":`...)
	dst = append(dst, object...)
	return append(dst, "}\n"...)
}

// protobufFrame returns a length-prefixed metav1.WatchEvent {type = 1, object = 2: RawExtension {raw = 1}}.
func protobufFrame(kind watch.EventType, object []byte) []byte {
	raw := protowire.AppendTag(make([]byte, 0, len(object)+8), 1, protowire.BytesType)
	raw = protowire.AppendBytes(raw, object)
	event := protowire.AppendTag(make([]byte, 0, len(raw)+32), 1, protowire.BytesType)
	event = protowire.AppendString(event, string(kind))
	event = protowire.AppendTag(event, 2, protowire.BytesType)
	event = protowire.AppendBytes(event, raw)
	return lengthPrefixed(event)
}

// lengthPrefixed prefixes a protobuf message of a stream with its length in four bytes, big-endian.
func lengthPrefixed(message []byte) []byte {
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, len(message)+4), uint32(len(message)))
	return append(frame, message...)
}
