package object

import "k8s.io/apimachinery/pkg/runtime"

// Codec turns encodings of one kind into Go objects and back. A kind supplies it; it must be safe for concurrent use. An
// object keeps none: it may come from a disk, where its writer's codec is gone, and several servers may share it, each of
// which reads it by its own. So whoever reads says which codec reads.
type Codec interface {
	// Stamp tells what this codec makes of objects from what others make of them.
	Stamp() Stamp
	// Decode makes the Go object that Object.Decode tells of. The data is an encoding that a codec of the same stamp made.
	Decode(form Form, data []byte) (runtime.Object, error)
	// Encode writes such an object in a form. resourceVersion is written as it stands in obj.
	Encode(form Form, obj runtime.Object) ([]byte, error)
	// Cache bounds the second encodings of this kind's objects.
	Cache() *Cache
}

// Stamp is what a codec is, by its content: of two codecs of one kind that have the same stamp, each reads what the other
// wrote as if it had written it itself. It is stored with each object, and so must be the same in every process. Zero is
// nobody's: it stands for what no codec wrote.
type Stamp uint64

// Adopter is implemented by codecs that read otherwise what one of another stamp wrote: a definition changed since, or is
// another one in the server that wrote the object.
type Adopter interface {
	// Adopt is Decode of what a codec of another stamp wrote.
	Adopt(form Form, data []byte) (runtime.Object, error)
}

// Sharer is implemented by codecs that read an object for less where it will not be changed: objects that are read so may share
// what they have in common.
type Sharer interface {
	// DecodeShared makes what Decode makes of an encoding that a codec of the same stamp made, and keeps nothing of it.
	DecodeShared(e *Encoding) (runtime.Object, error)
}

// Batcher is implemented by codecs that encode many objects at less cost than each alone.
type Batcher interface {
	// EncodeAll does for each object what Encode does, or nothing at all.
	EncodeAll(form Form, objects []runtime.Object) ([][]byte, error)
}
