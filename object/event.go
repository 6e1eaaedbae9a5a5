package object

import (
	"encoding/binary"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/watch"
)

// Event is one change of one object. Events are shared by every watcher and immutable.
type Event struct {
	// Object is the state after the change; of a deleted object, its last state at the revision of the deletion.
	Object *Object
	// Previous is the state before; nil when the object was created.
	Previous *Object
	// Deleted says that the change removed the object.
	Deleted bool

	// frames are those that were made so far; &dropped when none are kept.
	frames atomic.Pointer[[]frame]
}

// Revision is that of the commit that made the change.
func (e *Event) Revision() Revision { return e.Object.Revision }

// Key is that of the changed object.
func (e *Event) Key() Key { return e.Object.Key }

// Type is what the change is to a watcher who sees every object.
func (e *Event) Type() watch.EventType {
	switch {
	case e.Deleted:
		return watch.Deleted
	case e.Previous == nil:
		return watch.Added
	}
	return watch.Modified
}

// TypeFor is what the change is to a watcher who sees only what matches: an object that comes to match is added, one
// that no longer does is deleted. The second result is false when the watcher sees nothing of it.
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

// frame is an event as one form of watch sends it, by readers of one stamp.
type frame struct {
	by    Stamp
	kind  watch.EventType
	form  Form
	bytes []byte
}

// Frame is the event as a watch sends it in a form, by the codec that it reads by. It is made once and shared; the caller must not change it. To a
// watcher whom an update takes the object from, the frame shows the last state that it saw, at the new revision.
func (e *Event) Frame(by Codec, kind watch.EventType, form Form) ([]byte, error) {
	if f := e.keptFrame(by.Stamp(), kind, form); f != nil {
		return f, nil
	}
	shown, err := e.Shown(kind)
	if err != nil {
		return nil, err
	}
	enc, err := shown.Encoding(by, form)
	if err != nil {
		return nil, err
	}
	bytes := AppendFrame(nil, kind, form.Format, enc.Bytes())
	e.keepFrame(frame{by.Stamp(), kind, form, bytes})
	return bytes, nil
}

// Shown is the state that an event of a type shows: see Frame.
func (e *Event) Shown(kind watch.EventType) (*Object, error) {
	if kind == watch.Deleted && !e.Deleted {
		return e.Previous.At(e.Revision())
	}
	return e.Object, nil
}

func (e *Event) keptFrame(by Stamp, kind watch.EventType, form Form) []byte {
	frames := e.frames.Load()
	if frames == nil {
		return nil
	}
	for _, f := range *frames {
		if f.by == by && f.kind == kind && f.form == form {
			return f.bytes
		}
	}
	return nil
}

// DropFrames gives back the frames that were made, and lets none be kept from now on: few watchers read an old event
// together. The store calls it.
func (e *Event) DropFrames() { e.frames.Store(&dropped) }

// dropped is in the place of the frames of an event that keeps none.
var dropped []frame

func (e *Event) keepFrame(f frame) {
	for {
		old := e.frames.Load()
		if old == &dropped {
			return
		}
		var next []frame
		if old != nil {
			next = append(next, *old...)
		}
		next = append(next, f)
		if e.frames.CompareAndSwap(old, &next) {
			return
		}
	}
}

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

// protobufFrame is a metav1.WatchEvent {type = 1, object = 2: RawExtension {raw = 1}}, length-prefixed.
func protobufFrame(kind watch.EventType, object []byte) []byte {
	raw := protowire.AppendTag(make([]byte, 0, len(object)+8), 1, protowire.BytesType)
	raw = protowire.AppendBytes(raw, object)
	event := protowire.AppendTag(make([]byte, 0, len(raw)+32), 1, protowire.BytesType)
	event = protowire.AppendString(event, string(kind))
	event = protowire.AppendTag(event, 2, protowire.BytesType)
	event = protowire.AppendBytes(event, raw)
	return lengthPrefixed(event)
}

// lengthPrefixed frames a protobuf message of a stream: its length in four bytes, big-endian, then the message.
func lengthPrefixed(message []byte) []byte {
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, len(message)+4), uint32(len(message)))
	return append(frame, message...)
}
