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
	"github.com/bowline-dev/bowline/internal/object"
)

// reader makes states of a source's objects. It decodes and transforms them at once or, in a lazy informer, when they
// are read.
type reader[T client.Object] struct {
	converter converter[T]
	transform func(T) (T, error)
	lazy      bool
	recent    recent[T]
	detect    *Mutations
	log       *slog.Logger
	// unreadable counts the objects that could not be decoded.
	unreadable atomic.Int64
}

func newReader[T client.Object](version schema.GroupVersion, options Options[T], log *slog.Logger) *reader[T] {
	return &reader[T]{
		converter: converter[T]{
			version: version, decode: options.Decode, unshared: options.Lazy || options.Transform != nil ||
				options.Mutations != nil,
		},
		transform: options.Transform,
		lazy:      options.Lazy,
		detect:    options.Mutations,
		log:       log,
	}
}

// state returns the state of an object, not yet decoded.
func (r *reader[T]) state(by object.Codec, o *object.Object) *state[T] {
	return &state[T]{key: keyOf(o), revision: o.Revision, encoded: &encoded[T]{reader: r, codec: by, raw: o}}
}

// keyOf returns the cache key of a source's object.
func keyOf(o *object.Object) Key { return Key{Namespace: o.Key.Namespace(), Name: o.Key.Name()} }

// decode decodes and transforms an object. Options.Decode and Options.Transform may panic or return an object of
// another name; decode then returns an error.
func (r *reader[T]) decode(by object.Codec, o *object.Object) (obj T, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%s: decoding it panicked: %v\n%s", o.Key, reason, debug.Stack())
		}
	}()
	obj, err = r.converter.convert(by, o)
	if err != nil {
		return obj, err
	}
	if key := KeyOf(obj); key != keyOf(o) {
		return obj, fmt.Errorf("%s: decoding returned another object, %s", o.Key, key)
	}
	if r.transform == nil {
		return obj, nil
	}
	if r.converter.decode != nil { // its result may be shared
		obj = obj.DeepCopyObject().(T)
	}
	changed, err := r.transform(obj)
	if err != nil {
		return obj, fmt.Errorf("%s: transforming it: %w", o.Key, err)
	}
	if key := KeyOf(changed); key != keyOf(o) {
		return obj, fmt.Errorf("%s: the transform returned another object, %s", o.Key, key)
	}
	return changed, nil
}

// encoded is an object that is decoded when it is read.
type encoded[T client.Object] struct {
	reader *reader[T]
	codec  object.Codec
	raw    *object.Object
	result atomic.Pointer[decodeResult[T]]
	left   atomic.Bool // set when the object leaves the cache
}

// decodeResult is a recently decoded object, or the error of decoding it.
type decodeResult[T client.Object] struct {
	obj T
	err error
}

// read returns the decoded object, and decodes it unless that was done recently. It logs the first failure.
func (l *encoded[T]) read() (T, error) {
	if previous := l.result.Load(); previous != nil {
		return previous.obj, previous.err
	}
	r := l.reader
	obj, err := r.decode(l.codec, l.raw)
	result := &decodeResult[T]{obj, err}
	for !l.result.CompareAndSwap(nil, result) {
		if previous := l.result.Load(); previous != nil {
			return previous.obj, previous.err
		}
	}
	if err != nil {
		r.unreadable.Add(1)
		r.log.Error("an object cannot be decoded and is skipped", "error", err)
		return obj, err
	}
	r.detect.hold(obj)
	for _, old := range r.recent.add(l) {
		old.dropDecoded()
	}
	return obj, nil
}

// leave records that the object left the cache: it is retained only while handlers still refer to it.
func (l *encoded[T]) leave() {
	l.left.Store(true)
	l.reader.recent.leave()
}

// dropDecoded drops the decoded object.
func (l *encoded[T]) dropDecoded() {
	if previous := l.result.Swap(nil); previous != nil && previous.err == nil {
		l.reader.detect.release(previous.obj)
	}
}

// maxRecent bounds the decoded objects that a lazy informer retains, in encoded bytes; decoded they take
// several times as many.
//
// Measured with 10,000 Pods whose events three handlers receive and a worker reads up to 50 events later,
// this bound decodes each state once, as no bound would. Weak pointers do too while the heap is large, but
// take three times as long on a small heap, which is collected more often. Retaining nothing takes four times
// as long. Listing the same 500 objects repeatedly decodes them once; listing all objects decodes all.
const maxRecent = 4 << 20

// recent holds the objects in the cache that a lazy informer decoded last.
type recent[T client.Object] struct {
	mu    sync.Mutex
	queue []*encoded[T]
	bytes int
	left  int // approximate number of queued objects that left the cache
}

// add adds an object and returns the oldest ones, which no longer fit.
func (r *recent[T]) add(l *encoded[T]) (evicted []*encoded[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.left.Load() {
		return nil
	}
	r.queue = append(r.queue, l)
	r.bytes += l.raw.Size()
	n := 0
	for ; r.bytes > maxRecent && n < len(r.queue)-1; n++ {
		r.bytes -= r.queue[n].raw.Size()
	}
	evicted = slices.Clone(r.queue[:n])
	clear(r.queue[:n])
	r.queue = r.queue[n:]
	return evicted
}

// maxLeft is the number of queued objects that may have left the cache before leave removes them.
const maxLeft = 64

// leave removes the objects that left the cache, once they may be half of all.
func (r *recent[T]) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left++; r.left < max(maxLeft, len(r.queue)/2) {
		return
	}
	r.left, r.bytes = 0, 0
	r.queue = slices.DeleteFunc(r.queue, func(l *encoded[T]) bool { return l.left.Load() })
	for _, l := range r.queue {
		r.bytes += l.raw.Size()
	}
}
