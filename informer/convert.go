package informer

import (
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/wire"
)

// converter converts a source's objects to T. It is safe for concurrent use.
type converter[T client.Object] struct {
	version schema.GroupVersion
	// decode is Options.Decode.
	decode func(by object.Codec, o *object.Object) (T, error)
	// unshared requests objects that share no memory with the source or each other, because the informer may
	// change them.
	unshared bool
	// reads is set once a decoded object was not of type T, so that the JSON of all must be decoded.
	reads atomic.Bool
}

// convert returns an object as T, without a copy if it is one already.
func (c *converter[T]) convert(by object.Codec, o *object.Object) (T, error) {
	if c.decode != nil {
		return c.decode(by, o)
	}
	if wire.Untyped(by) {
		return wire.ReadObject[T](o)
	}
	if onlyMetadata[T]() && c.hasVersion(o) {
		obj, err := metadataOf(o)
		if err != nil {
			return *new(T), err
		}
		return any(obj).(T), nil
	}
	if !c.reads.Load() {
		decoded, err := c.decoded(by, o)
		if err != nil {
			return *new(T), err
		}
		version := decoded.GetObjectKind().GroupVersionKind().GroupVersion()
		if obj, ok := decoded.(T); ok && (version == c.version || version.Empty()) {
			return obj, nil
		}
		c.reads.Store(true)
	}
	encoding, err := o.Encoding(by, object.Form{APIVersion: c.version.String(), Format: object.JSON})
	if err != nil {
		return *new(T), err
	}
	obj, err := wire.Decode[T](encoding.Bytes())
	if err != nil {
		return obj, fmt.Errorf("%s: %w", o.Key, err)
	}
	return obj, nil
}

// hasVersion reports whether an object is encoded in the requested version. Metadata may differ between versions.
func (c *converter[T]) hasVersion(o *object.Object) bool {
	return !o.IsReady() && o.Form().APIVersion == c.version.String()
}

// metadataOf decodes only the metadata of an object.
func metadataOf(o *object.Object) (*metav1.PartialObjectMetadata, error) {
	stored := o.Stored()
	obj := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: stored.Form.APIVersion,
		Kind: stored.Kind()}}
	read := obj.ObjectMeta.Unmarshal
	if stored.Form.Format == object.JSON {
		read = func(data []byte) error { return kjson.UnmarshalCaseSensitivePreserveInts(data, &obj.ObjectMeta) }
	}
	if err := read(stored.Metadata()); err != nil {
		return nil, fmt.Errorf("%s: reading its metadata: %w", o.Key, err)
	}
	return obj, nil
}

// decoded returns an object as the source's codec decodes it.
func (c *converter[T]) decoded(by object.Codec, o *object.Object) (runtime.Object, error) {
	if c.unshared {
		return o.Decode(by)
	}
	return o.Decoded(by)
}
