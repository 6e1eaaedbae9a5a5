package object

import "k8s.io/apimachinery/pkg/runtime"

// Codec converts between Go objects of one kind and their encodings. Each kind supplies one; it must be safe
// for concurrent use. An Object does not hold its codec: it may have been read from disk, where the codec
// that wrote it no longer exists, and several servers may share it, each with a codec of its own. Callers
// therefore pass the codec to decode with.
type Codec interface {
	// Stamp identifies the codec. Objects stored under the same stamp decode identically.
	Stamp() Stamp
	// Decode decodes data, which a codec with the same stamp encoded, for Object.Decode.
	Decode(form Form, data []byte) (runtime.Object, error)
	// Encode encodes obj in form. It writes resourceVersion as it is in obj.
	Encode(form Form, obj runtime.Object) ([]byte, error)
	// Cache returns the cache that bounds the additional encodings of this kind's objects.
	Cache() *Cache
}

// Stamp identifies the codec and form in which an object was encoded, by content: two codecs of a kind with
// equal stamps decode each other's output as their own. It is stored with each object, so it must be the same
// in every process. No codec has stamp zero; it marks objects that no codec wrote.
type Stamp uint64

// Adopter is implemented by codecs that must convert what a codec with another stamp wrote: the kind's
// definition changed since, or differs in the server that wrote the object.
type Adopter interface {
	// Adopt decodes data that a codec with another stamp wrote.
	Adopt(form Form, data []byte) (runtime.Object, error)
}

// Sharer is implemented by codecs that can decode read-only objects at lower cost. Such objects may share
// parts with each other.
type Sharer interface {
	// DecodeShared decodes an encoding that a codec with the same stamp made. The result does not retain e's
	// bytes.
	DecodeShared(e *Encoding) (runtime.Object, error)
}

// Batcher is implemented by codecs that encode many objects at lower cost than one at a time.
type Batcher interface {
	// EncodeAll encodes each object as Encode does. It returns an error if any of them fails.
	EncodeAll(form Form, objects []runtime.Object) ([][]byte, error)
}
