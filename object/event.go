package object

import (
	"encoding/binary"
	"fmt"
	"slices"
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
	frames atomic.Pointer[[]*frame]
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
	by   Stamp
	kind watch.EventType
	form Form
	// made is closed when bytes or err are there.
	made  chan struct{}
	bytes []byte
	err   error
}

// Frame is the event as a watch sends it in a form, by the codec that it reads by. It is made once and shared, also by those
// who ask for it while it is made; the caller must not change it. To a watcher whom an update takes the object from, the
// frame shows the last state that it saw, at the new revision.
func (e *Event) Frame(by Codec, kind watch.EventType, form Form) ([]byte, error) {
	f, mine := e.frame(by.Stamp(), kind, form)
	if !mine {
		<-f.made
		return f.bytes, f.err
	}
	defer close(f.made)
	f.err = fmt.Errorf("%s: its event of revision %d could not be made", e.Key(), e.Revision()) // should what follows panic
	if f.bytes, f.err = e.encode(by, kind, form); f.err != nil {
		e.takeBack(f)
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

// Shown is the state that an event of a type shows: see Frame.
func (e *Event) Shown(kind watch.EventType) (*Object, error) {
	if kind == watch.Deleted && !e.Deleted {
		return e.Previous.At(e.Revision())
	}
	return e.Object, nil
}

// frame finds a frame that somebody makes or has made; mine says that it is the caller who has to.
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
		f = &frame{by: by, kind: kind, form: form, made: make(chan struct{})}
		next = append(next, f)
		if old == &dropped || e.frames.CompareAndSwap(old, &next) {
			return f, true
		}
	}
}

// takeBack lets a frame that could not be made be tried again.
func (e *Event) takeBack(f *frame) {
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

// DropFrames gives back the frames that were made, and lets none be kept from now on: few watchers read an old event
// together. The store calls it.
func (e *Event) DropFrames() { e.frames.Store(&dropped) }

// dropped is in the place of the frames of an event that keeps none.
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
