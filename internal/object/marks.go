package object

import "hash/maphash"

// Mark is a Bloom filter of labels in 64 bits. Scans use it to skip most objects without a label, without a
// lookup in their labels.
type Mark uint64

// seed is random per process; marks are never stored.
var seed = maphash.MakeSeed()

// MarkLabel returns the bits of one label with its value.
func MarkLabel(key, value string) Mark {
	return bits(maphash.String(seed, value) ^ maphash.String(seed, key)*3)
}

// MarkKey returns the bits of a label key with any value.
func MarkKey(key string) Mark { return bits(maphash.String(seed, key)) }

// bits selects up to two of the 64 bits by hash.
func bits(hash uint64) Mark { return 1<<(hash&63) | 1<<(hash>>6&63) }

// markOf returns the bits of all labels and of their keys.
func markOf(labels map[string]string) (m Mark) {
	for key, value := range labels {
		m |= MarkLabel(key, value) | MarkKey(key)
	}
	return m
}

// MayHave reports whether an object with mark m may have the labels with the given bits. If the result is
// false, the object lacks at least one label.
func (m Mark) MayHave(labels Mark) bool { return m&labels == labels }

// Mark returns the mark of the object's labels.
func (h *Header) Mark() Mark { return h.mark }
