package object

import "hash/maphash"

// Mark is a set of labels in 64 bits (a Bloom filter): each label sets some of them, so that most objects which do not
// have a label are passed over without a look at their labels.
type Mark uint64

// seed lets the bits of a label be the same for as long as the process runs, which is as long as a mark lasts.
var seed = maphash.MakeSeed()

// MarkLabel is the bits of one label with its value.
func MarkLabel(key, value string) Mark {
	return bits(maphash.String(seed, value) ^ maphash.String(seed, key)*3)
}

// MarkKey is the bits of a label with any value.
func MarkKey(key string) Mark { return bits(maphash.String(seed, key)) }

// bits are two of the 64, by a hash.
func bits(hash uint64) Mark { return 1<<(hash&63) | 1<<(hash>>6&63) }

// markOf is the bits of all labels, and of their keys.
func markOf(labels map[string]string) (m Mark) {
	for key, value := range labels {
		m |= MarkLabel(key, value) | MarkKey(key)
	}
	return m
}

// MayHave says that an object of this mark may have the labels whose bits are given. When it is false, one of them is
// not there.
func (m Mark) MayHave(labels Mark) bool { return m&labels == labels }

// Mark is that of the object's labels.
func (h *Header) Mark() Mark { return h.mark }
