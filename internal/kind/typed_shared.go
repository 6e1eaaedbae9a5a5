package kind

import (
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/message"
	"github.com/bowline-dev/bowline/internal/object"
)

// sharedDecoder decodes the objects of a kind, sharing memory between objects that have content in common. The zero
// value is ready to use.
type sharedDecoder struct {
	reads  atomic.Int64
	reader atomic.Pointer[message.Reader]
}

// shareAfter is the number of objects that are decoded before content is shared: for a kind with fewer objects, the
// memory for finding shared content would not pay off.
const shareAfter = 8

// read decodes a protobuf message into a struct.
func (a *sharedDecoder) read(data []byte, into message.Unmarshaler) error {
	if r := a.reader.Load(); r != nil {
		return r.Read(data, into)
	}
	if a.reads.Add(1) == shareAfter {
		a.reader.Store(message.NewReader())
	}
	return into.Unmarshal(data)
}

var _ object.Sharer = (*Typed[metav1.PartialObjectMetadata, *metav1.PartialObjectMetadata])(nil)

// DecodeShared implements object.Sharer for objects that are stored as protobuf in the hub version. Other
// objects are decoded by Decode, without sharing.
func (k *Typed[T, P]) DecodeShared(e *object.Encoding) (runtime.Object, error) {
	obj := P(new(T))
	into, reads := any(obj).(message.Unmarshaler)
	if !reads || e.Form.Format != object.Protobuf || k.versions.has(e.Form.APIVersion) || k.rules.Restore != nil ||
		object.Initializers(e.Form.Format, e.Bytes()) != nil {
		return k.Decode(e.Form, e.Bytes())
	}
	if err := k.shared.read(e.Message(), into); err != nil {
		return nil, err
	}
	return k.versions.toHub(e.Form.APIVersion, obj)
}
