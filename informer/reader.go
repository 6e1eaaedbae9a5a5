package informer

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
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
		converter: converter[T]{
			version: version, decode: options.Decode, own: options.Lazy || options.Transform != nil || options.Mutations != nil,
		},
		transform: options.Transform,
		lazy:      options.Lazy,
		detect:    options.Mutations,
		log:       log,
	}
}

// state makes the state of an object, undecoded.
func (r *reader[T]) state(by object.Codec, o *object.Object) *state[T] {
	return &state[T]{key: keyOf(o), revision: o.Revision, late: &late[T]{reader: r, codec: by, raw: o}}
}

// keyOf is the key of a source's object in the cache.
func keyOf(o *object.Object) Key { return Key{Namespace: o.Key.Namespace(), Name: o.Key.Name()} }

// decode reads an object and transforms it. Both may be the user's code: a panic is one more way not to be readable, and so
// is another name than the object is known by.
func (r *reader[T]) decode(by object.Codec, o *object.Object) (obj T, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%s: reading it panicked: %v\n%s", o.Key, reason, debug.Stack())
		}
	}()
	obj, err = r.converter.convert(by, o)
	if err != nil {
		return obj, err
	}
	if key := KeyOf(obj); key != keyOf(o) {
		return obj, fmt.Errorf("%s: decoding it made it another object, %s", o.Key, key)
	}
	if r.transform == nil {
		return obj, nil
	}
	if r.converter.decode != nil { // which may share it
		obj = obj.DeepCopyObject().(T)
	}
	changed, err := r.transform(obj)
	if err != nil {
		return obj, fmt.Errorf("%s: transforming it: %w", o.Key, err)
	}
	if key := KeyOf(changed); key != keyOf(o) {
		return obj, fmt.Errorf("%s: transforming it made it another object, %s", o.Key, key)
	}
	return changed, nil
}

// late is an object that is decoded when somebody reads it.
type late[T client.Object] struct {
	reader *reader[T]
	codec  object.Codec
	raw    *object.Object
	kept   atomic.Pointer[kept[T]]
	left   atomic.Bool // the cache
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
	for _, old := range r.recent.add(l) {
		old.forget()
	}
	return obj, nil
}

// leave notes that the object is in the cache no more: who has yet to hear of it keeps it, decoded or not, and nobody else.
func (l *late[T]) leave() {
	l.left.Store(true)
	l.reader.recent.leave()
}

// forget gives the decoded object back.
func (l *late[T]) forget() {
	if have := l.kept.Swap(nil); have != nil && have.err == nil {
		l.reader.detect.release(have.obj)
	}
}

// mostRecent bounds what a lazy informer keeps decoded, in bytes as the source has them, which are a few times as many when
// they are decoded.
//
// Measured on 10,000 Pods whose events three handlers hear and a worker reads up to 50 events later, this decodes each state
// once, as no bound would. Weak pointers do too while the heap is large, but a small one is collected so often that they
// take three times as long; keeping nothing takes four times as long. Whoever lists the same 500 objects again and again
// decodes them once, and who lists all of them decodes all, which nothing but memory for all would spare them.
const mostRecent = 4 << 20

// recent are the objects in the cache that a lazy informer decoded last.
type recent[T client.Object] struct {
	mu    sync.Mutex
	queue []*late[T]
	bytes int
	left  int // about how many of them have left the cache
}

// add makes room for one more object, and returns those that have to make way: the oldest.
func (r *recent[T]) add(l *late[T]) (gone []*late[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.left.Load() {
		return nil
	}
	r.queue = append(r.queue, l)
	r.bytes += l.raw.Size()
	n := 0
	for ; r.bytes > mostRecent && n < len(r.queue)-1; n++ {
		r.bytes -= r.queue[n].raw.Size()
	}
	gone = slices.Clone(r.queue[:n])
	clear(r.queue[:n])
	r.queue = r.queue[n:]
	return gone
}

// mostLeft is how many objects that have left the cache are kept at least before one looks for them.
const mostLeft = 64

// leave drops those that have left the cache, when they may be half of all.
func (r *recent[T]) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left++; r.left < max(mostLeft, len(r.queue)/2) {
		return
	}
	r.left, r.bytes = 0, 0
	r.queue = slices.DeleteFunc(r.queue, func(l *late[T]) bool { return l.left.Load() })
	for _, l := range r.queue {
		r.bytes += l.raw.Size()
	}
}
