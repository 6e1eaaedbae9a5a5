package kind

import (
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/message"
	"github.com/bowline-dev/bowline/object"
)

// alike reads the objects of a kind, many of which have much in common. The zero value has read none.
type alike struct {
	reads  atomic.Int64
	reader atomic.Pointer[message.Reader]
}

// few is how many objects are read before one looks for what they share: a kind of which there are no more needs no memory for
// that.
const few = 8

// read reads the message of an object into a struct.
func (a *alike) read(data []byte, into message.Unmarshaler) error {
	if r := a.reader.Load(); r != nil {
		return r.Read(data, into)
	}
	if a.reads.Add(1) == few {
		a.reader.Store(message.NewReader())
	}
	return into.Unmarshal(data)
}

var _ object.Sharer = (*Typed[metav1.PartialObjectMetadata, *metav1.PartialObjectMetadata])(nil)

// DecodeShared implements object.Sharer, for what is stored as protobuf. What changes after it was read is the object's own:
// what is converted, or has something that is not in its message.
func (k *Typed[T, P]) DecodeShared(e *object.Encoding) (runtime.Object, error) {
	obj := P(new(T))
	into, reads := any(obj).(message.Unmarshaler)
	_, converted := k.rules.Versions[e.Form.APIVersion]
	if !reads || e.Form.Format != object.Protobuf || converted || k.rules.Restore != nil ||
		object.Initializers(e.Form.Format, e.Bytes()) != nil {
		return k.Decode(e.Form, e.Bytes())
	}
	if err := k.alike.read(e.Message(), into); err != nil {
		return nil, err
	}
	return k.toHub(e.Form.APIVersion, obj)
}
