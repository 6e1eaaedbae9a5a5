package informer

import (
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/object"
)

// converter makes T of what a source yields. Many goroutines may use it.
type converter[T client.Object] struct {
	version schema.GroupVersion
	// decode is Options.Decode.
	decode func(by object.Codec, o *object.Object) (T, error)
	// own says that objects are to be made for the caller, and not shared with the source, which would keep them, nor in part
	// with others, who would change with them.
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
	if onlyMetadata[T]() && c.has(o) {
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

// has says whether an object is kept in the version that is asked for: its metadata may be another one in another version.
func (c *converter[T]) has(o *object.Object) bool {
	return !o.IsReady() && o.Form().APIVersion == c.version.String()
}

// metadataOf reads the metadata of an object, and nothing else of it.
func metadataOf(o *object.Object) (*metav1.PartialObjectMetadata, error) {
	stored := o.Stored()
	obj := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: stored.Form.APIVersion, Kind: stored.Kind()}}
	read := obj.ObjectMeta.Unmarshal
	if stored.Form.Format == object.JSON {
		read = func(data []byte) error { return kjson.UnmarshalCaseSensitivePreserveInts(data, &obj.ObjectMeta) }
	}
	if err := read(stored.Metadata()); err != nil {
		return nil, fmt.Errorf("%s: reading its metadata: %w", o.Key, err)
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
