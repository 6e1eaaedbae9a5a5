package informer

import (
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/object"
)

// converter makes T of what a source yields. Many goroutines may use it.
type converter[T client.Object] struct {
	version schema.GroupVersion
	// decode is Options.Decode.
	decode func(by object.Codec, o *object.Object) (T, error)
	// own says that objects are to be made for the caller, and not shared with the source, which would keep them.
	own bool
	// reads says that the source's objects are no T, so that their JSON must be read.
	reads atomic.Bool
}

// convert makes a T of an object, or shares it where it is one already.
func (c *converter[T]) convert(by object.Codec, o *object.Object) (T, error) {
	if c.decode != nil {
		return c.decode(by, o)
	}
	if client.Untyped(by) {
		return client.ReadObject[T](o)
	}
	if !c.reads.Load() {
		decoded, err := c.decoded(by, o)
		if err != nil {
			return *new(T), err
		}
		other := decoded.GetObjectKind().GroupVersionKind().GroupVersion()
		if obj, ok := decoded.(T); ok && (other == c.version || other.Empty()) {
			return obj, nil
		}
		c.reads.Store(true)
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

// decoded is an object as the source's codec decodes it.
func (c *converter[T]) decoded(by object.Codec, o *object.Object) (runtime.Object, error) {
	if c.own {
		return o.Decode(by)
	}
	return o.Decoded(by)
}
