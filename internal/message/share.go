package message

import (
	"hash/fnv"
	"hash/maphash"
	"reflect"
	"sync/atomic"
	"unsafe"
)

const (
	// mostParts and mostWords are the numbers of cache slots for field values and for strings.
	mostParts, mostWords = 2048, 1024
	// longestPart and longestWord are the longest cached values in bytes.
	longestPart, longestWord = 16 << 10, 128
	// smallPart is the largest value that is cached on first use, if its slot is free; a larger one must
	// repeat.
	smallPart = 1 << 10
)

// known is a cache of decoded values and strings, indexed by the hash of their bytes.
type known struct {
	seed  maphash.Seed
	parts []place[part]
	words []place[string]
}

// forget empties the cache.
func (k *known) forget() {
	*k = known{maphash.MakeSeed(), make([]place[part], mostParts), make([]place[string], mostWords)}
}

// place is one slot of the cache.
type place[T any] struct {
	cached atomic.Pointer[T]
	last   atomic.Uint64 // hash of the last value that was not cached
}

// takes reports whether to cache a value with a hash and size that was not found. A cached value is replaced
// only by one that occurs twice without another value of the slot in between, so values that occur once do
// not evict frequent ones.
func (p *place[T]) takes(hash uint64, bytes int) bool {
	return p.last.Swap(hash) == hash || bytes <= smallPart && p.cached.Load() == nil
}

// part is the decoded value of a field.
type part struct {
	of   reflect.Type
	data string
	made reflect.Value
}

// word returns data as a string, an earlier equal string if it is cached.
func (k *known) word(data []byte) string {
	if len(data) == 0 || len(data) > longestWord {
		return string(data)
	}
	hash := maphash.Bytes(k.seed, data)
	p := &k.words[hash%mostWords]
	if w := p.cached.Load(); w != nil && *w == string(data) {
		return *w
	}
	w := string(data)
	if p.takes(hash, len(w)) {
		p.cached.Store(&w)
	}
	return w
}

// sharing returns a setter that reuses the decoded pointer, slice or map of equal bytes. Shared values are
// never modified: set refuses to merge into an existing value.
func sharing(t reflect.Type, set setter) setter {
	name := fnv.New64a()
	name.Write([]byte(t.String())) // equal bytes decode to different values of different types
	salt := name.Sum64()
	return func(r *Reader, at unsafe.Pointer, v value) error {
		into := reflect.NewAt(t, at).Elem()
		if !into.IsNil() || len(v.data) > longestPart {
			return set(r, at, v)
		}
		hash := maphash.Bytes(r.seed, v.data) ^ salt
		p := &r.parts[hash%mostParts]
		if have := p.cached.Load(); have != nil && have.of == t && have.data == string(v.data) {
			into.Set(have.made)
			r.repeated.Add(int64(len(v.data)))
			return nil
		}
		if err := set(r, at, v); err != nil {
			return err
		}
		if p.takes(hash, len(v.data)) {
			made := reflect.New(t).Elem()
			made.Set(into)
			p.cached.Store(&part{t, string(v.data), made})
		}
		return nil
	}
}
