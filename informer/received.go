package informer

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/bowline-dev/bowline/object"
)

// received is an object as a source yields it.
type received struct {
	by  object.Codec
	raw *object.Object
}

// alone is how many objects are read at most without the help of other goroutines, which cost more than a few objects.
const alone = 32

// states makes the states of objects, in their order, on all cores. One that cannot be read is nil; it has been counted and
// reported.
func (r *reader[T]) states(objects []received) []*state[T] {
	states := make([]*state[T], len(objects))
	workers := min(runtime.GOMAXPROCS(0), len(objects)/alone)
	if workers < 2 || r.lazy || r.converter.decode != nil {
		for i := range objects {
			states[i] = r.stateOf(objects[i])
		}
		return states
	}
	var running sync.WaitGroup
	var next atomic.Int64
	for range workers {
		running.Go(func() {
			for {
				to := int(next.Add(alone))
				if to-alone >= len(objects) {
					return
				}
				for i := to - alone; i < min(to, len(objects)); i++ {
					states[i] = r.stateOf(objects[i])
				}
			}
		})
	}
	running.Wait()
	return states
}

func (r *reader[T]) stateOf(o received) *state[T] {
	s, err := r.state(o.by, o.raw)
	if err != nil {
		r.log.Error("an object cannot be read: its last known state stands", "error", err)
		return nil
	}
	return s
}

// passOver counts and reports an object that is not even known by its name.
func (r *reader[T]) passOver(err error) {
	r.unreadable.Add(1)
	r.log.Error("an object cannot be read: it is passed over", "error", err)
}

// Unreadable is how many objects, each time that they were listed or changed, could not be decoded or transformed. Such an
// object is logged and passed over: its last known state stands, and all others go on.
func (i *Informer[T]) Unreadable() int { return int(i.reader.unreadable.Load()) }
