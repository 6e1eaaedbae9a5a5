package informer

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/object"
)

// reader makes states of what a source yields: decoded and transformed at once, or, of a lazy informer, when they are read.
type reader[T client.Object] struct {
	converter converter[T]
	transform func(T) (T, error)
	lazy      bool
	recent    recent[T]
	detect    *Mutations
	log       *slog.Logger
	// unreadable counts the objects that could not be read.
	unreadable atomic.Int64
}

func newReader[T client.Object](version schema.GroupVersion, options Options[T], log *slog.Logger) *reader[T] {
	return &reader[T]{
		converter: converter[T]{version: version, decode: options.Decode, own: options.Lazy || options.Transform != nil},
		transform: options.Transform,
		lazy:      options.Lazy,
		detect:    options.Mutations,
		log:       log,
	}
}

// state makes the state of an object. The error is of one that cannot be read; the object and the informer are in it.
func (r *reader[T]) state(by object.Codec, o *object.Object) (*state[T], error) {
	if r.lazy {
		s := &state[T]{key: keyOf(o), revision: o.Revision}
		s.late = &late[T]{reader: r, codec: by, raw: o}
		return s, nil
	}
	obj, err := r.decode(by, o)
	if err != nil {
		r.unreadable.Add(1)
		return nil, err
	}
	return &state[T]{key: KeyOf(obj), revision: o.Revision, obj: obj}, nil
}

// keyOf is the key of a source's object in the cache.
func keyOf(o *object.Object) Key { return Key{Namespace: o.Key.Namespace(), Name: o.Key.Name()} }

// decode reads an object and transforms it.
func (r *reader[T]) decode(by object.Codec, o *object.Object) (obj T, err error) {
	obj, err = r.converter.convert(by, o)
	if err != nil || r.transform == nil {
		return obj, err
	}
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%s: the transform panicked: %v", o.Key, reason)
		}
	}()
	changed, err := r.transform(obj.DeepCopyObject().(T))
	if err != nil {
		return obj, fmt.Errorf("%s: transforming it: %w", o.Key, err)
	}
	return changed, nil
}

// late is an object that is decoded when somebody reads it.
type late[T client.Object] struct {
	reader *reader[T]
	codec  object.Codec
	raw    *object.Object
	kept   atomic.Pointer[kept[T]]
}

// kept is an object that was decoded not long ago, or why it cannot be.
type kept[T client.Object] struct {
	obj T
	err error
}

// read decodes the object, unless that has been done not long ago. One that cannot be read is reported the first time.
func (l *late[T]) read() (T, error) {
	if have := l.kept.Load(); have != nil {
		return have.obj, have.err
	}
	r := l.reader
	obj, err := r.decode(l.codec, l.raw)
	mine := &kept[T]{obj, err}
	for !l.kept.CompareAndSwap(nil, mine) {
		if have := l.kept.Load(); have != nil {
			return have.obj, have.err
		}
	}
	if err != nil {
		r.unreadable.Add(1)
		r.log.Error("an object cannot be read: it is passed over", "error", err)
		return obj, err
	}
	r.detect.hold(obj)
	if old := r.recent.add(l); old != nil {
		old.forget()
	}
	return obj, nil
}

// forget gives the decoded object back.
func (l *late[T]) forget() {
	if have := l.kept.Swap(nil); have != nil && have.err == nil {
		l.reader.detect.release(have.obj)
	}
}

// mostRecent is how many decoded objects a lazy informer keeps.
const mostRecent = 1024

// recent are the objects that a lazy informer decoded last.
type recent[T client.Object] struct {
	mu   sync.Mutex
	ring []*late[T]
	next int
}

// add takes the place of the oldest, which is returned; nil while there is room.
func (r *recent[T]) add(l *late[T]) (oldest *late[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ring) < mostRecent {
		r.ring = append(r.ring, l)
		return nil
	}
	oldest, r.ring[r.next] = r.ring[r.next], l
	r.next = (r.next + 1) % mostRecent
	return oldest
}
