package kind

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/bowline-dev/bowline/object"
)

// receiveInitializers reads the field of a body into the struct that was made of it, and takes it out of what the struct does
// not know.
func receiveInitializers(format object.Format, body []byte, into runtime.Object, strict []string) ([]string, error) {
	obj := into.(metav1.Object)
	if SaysInitializers(obj) {
		putInitializers(obj, nil) // a client's own annotation of that name
	}
	if format == object.Protobuf {
		return strict, decodeInitializers(format, body, into)
	}
	if !bytes.Contains(body, []byte(`"initializers"`)) {
		return strict, nil
	}
	var sent struct {
		Metadata struct {
			Initializers json.RawMessage `json:"initializers"`
		} `json:"metadata"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &sent); err != nil {
		return strict, err
	}
	text := sent.Metadata.Initializers
	if text == nil {
		return strict, nil
	}
	if _, err := readInitializers(text); err != nil {
		return strict, err
	}
	putInitializers(obj, text)
	return slices.DeleteFunc(strict, func(f string) bool { return f == `unknown field "metadata.initializers"` }), nil
}

// decodeInitializers reads the field of what Marshal wrote.
func decodeInitializers(format object.Format, data []byte, into runtime.Object) error {
	text := object.Initializers(format, data)
	if text == nil {
		return nil
	}
	obj := into.(metav1.Object)
	if format == object.JSON {
		putInitializers(obj, text)
		return nil
	}
	var read Initializers
	if err := read.unmarshal(text); err != nil {
		return fmt.Errorf("metadata.initializers: %w", err)
	}
	SetInitializers(obj, &read)
	return nil
}

// marshalUninitialized is Marshal of an object that carries initializers.
func marshalUninitialized(format object.Format, obj runtime.Object) ([]byte, error) {
	bare := obj.DeepCopyObject()
	text, _ := initializersText(bare.(metav1.Object))
	putInitializers(bare.(metav1.Object), nil)
	data, err := Marshal(format, bare)
	if err != nil {
		return nil, err
	}
	read, err := readInitializers(text)
	if err != nil || read == nil {
		return data, err
	}
	if format == object.Protobuf {
		if text, err = read.marshal(); err != nil {
			return nil, err
		}
	}
	return object.PutInitializers(format, data, text)
}

// carries says that a struct carries initializers, for which its encoding has a place.
func carries(obj runtime.Object) bool {
	if _, isMap := obj.(*unstructured.Unstructured); isMap {
		return false
	}
	m, ok := obj.(metav1.Object)
	return ok && SaysInitializers(m)
}

// Field numbers of Kubernetes' messages Initializers and, of nameNumber, Initializer.
const pendingNumber, resultNumber, nameNumber = 1, 2, 1

func (i *Initializers) marshal() (message []byte, err error) {
	for _, p := range i.Pending {
		message = object.AppendField(message, pendingNumber, object.AppendField(nil, nameNumber, p.Name))
	}
	if i.Result == nil {
		return message, nil
	}
	result, err := i.Result.Marshal()
	return object.AppendField(message, resultNumber, result), err
}

func (i *Initializers) unmarshal(message []byte) error {
	return object.EachField(message, func(number protowire.Number, value []byte) error {
		switch number {
		case pendingNumber:
			var p Initializer
			err := object.EachField(value, func(number protowire.Number, value []byte) error {
				if number == nameNumber {
					p.Name = string(value)
				}
				return nil
			})
			i.Pending = append(i.Pending, p)
			return err
		case resultNumber:
			i.Result = &metav1.Status{}
			return i.Result.Unmarshal(value)
		}
		return nil
	})
}
