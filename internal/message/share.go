package message

import (
	"hash/fnv"
	"hash/maphash"
	"reflect"
	"sync/atomic"
	"unsafe"
)

const (
	// mostParts and mostWords are how many values of fields, and how many strings, are known by their bytes.
	mostParts, mostWords = 2048, 1024
	// longestPart and longestWord bound the bytes of one.
	longestPart, longestWord = 16 << 10, 128
	// smallPart is what is kept when it is read for the first time, if there is room; what is larger must come twice.
	smallPart = 1 << 10
)

// known is what was read before.
type known struct {
	seed  maphash.Seed
	parts []place[part]
	words []place[string]
}

// forget makes room for what is to be known.
func (k *known) forget() {
	*k = known{maphash.MakeSeed(), make([]place[part], mostParts), make([]place[string], mostWords)}
}

// place is where what has some hashes is known.
type place[T any] struct {
	kept atomic.Pointer[T]
	last atomic.Uint64 // the hash of what was read last and is not kept
}

// takes says whether to keep what has a hash and so many bytes, and was not known. What is kept makes way for what was read twice,
// and no other of the place in between: of much that comes once, none has what comes often be forgotten.
func (p *place[T]) takes(hash uint64, bytes int) bool {
	return p.last.Swap(hash) == hash || bytes <= smallPart && p.kept.Load() == nil
}

// part is what was made of the value of a field.
type part struct {
	of   reflect.Type
	data string
	made reflect.Value
}

// word is a string, the same one as before where that was equal.
func (k *known) word(data []byte) string {
	if len(data) == 0 || len(data) > longestWord {
		return string(data)
	}
	hash := maphash.Bytes(k.seed, data)
	p := &k.words[hash%mostWords]
	if w := p.kept.Load(); w != nil && *w == string(data) {
		return *w
	}
	w := string(data)
	if p.takes(hash, len(w)) {
		p.kept.Store(&w)
	}
	return w
}

// sharing has a field that is a pointer, a slice or a map be the same one wherever it has the same bytes. What is shared is not
// changed any more: set refuses to add to what is there.
func sharing(t reflect.Type, set setter) setter {
	name := fnv.New64a()
	name.Write([]byte(t.String())) // equal bytes are other values of other types
	salt := name.Sum64()
	return func(r *Reader, at unsafe.Pointer, v value) error {
		into := reflect.NewAt(t, at).Elem()
		if !into.IsNil() || len(v.data) > longestPart {
			return set(r, at, v)
		}
		hash := maphash.Bytes(r.seed, v.data) ^ salt
		p := &r.parts[hash%mostParts]
		if have := p.kept.Load(); have != nil && have.of == t && have.data == string(v.data) {
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
			p.kept.Store(&part{t, string(v.data), made})
		}
		return nil
	}
}
