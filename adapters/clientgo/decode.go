package clientgo

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/object"
)

// decoder makes objects of a Go type that is known only when the program runs. It is for one goroutine.
type decoder struct {
	version schema.GroupVersion
	goType  reflect.Type // a pointer to a struct
	// reads says that the source's objects are of another type, so that their JSON must be read.
	reads bool
}

// decode shares the object where it is of the type already.
func (d *decoder) decode(by object.Codec, o *object.Object) (client.Object, error) {
	if !d.reads {
		decoded, err := o.Decoded(by)
		if err != nil {
			return nil, err
		}
		version := decoded.GetObjectKind().GroupVersionKind().GroupVersion()
		if reflect.TypeOf(decoded) == d.goType && (version == d.version || version.Empty()) {
			return decoded.(client.Object), nil
		}
		d.reads = true
	}
	encoding, err := o.Encoding(by, object.Form{APIVersion: d.version.String(), Format: object.JSON})
	if err != nil {
		return nil, err
	}
	obj := reflect.New(d.goType.Elem()).Interface().(client.Object)
	if err := utiljson.Unmarshal(encoding.Bytes(), obj); err != nil {
		return nil, fmt.Errorf("%s: reading a %s: %w", o.Key, d.goType, err)
	}
	return obj, nil
}
