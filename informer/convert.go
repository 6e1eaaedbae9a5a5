package informer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/object"
)

// converter makes T of what a source yields. It is for one goroutine.
type converter[T client.Object] struct {
	version schema.GroupVersion
	// decode is Options.Decode.
	decode func(by object.Codec, o *object.Object) (T, error)
	// reads says that the source's objects are no T, so that their JSON must be read.
	reads bool
}

// convert shares the object where it is a T already.
func (c *converter[T]) convert(by object.Codec, o *object.Object) (T, error) {
	if c.decode != nil {
		return c.decode(by, o)
	}
	if !c.reads {
		decoded, err := o.Decoded(by)
		if err != nil {
			return *new(T), err
		}
		other := decoded.GetObjectKind().GroupVersionKind().GroupVersion()
		if obj, ok := decoded.(T); ok && (other == c.version || other.Empty()) {
			return obj, nil
		}
		c.reads = true
	}
	encoding, err := o.Encoding(by, object.Form{APIVersion: c.version.String(), Format: object.JSON})
	if err != nil {
		return *new(T), err
	}
	obj, err := client.Decode[T](encoding.Bytes())
	if err != nil {
		return obj, fmt.Errorf("%s: %w", o.Key, err)
	}
	return obj, nil
}
