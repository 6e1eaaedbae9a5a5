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

	"github.com/bowline-dev/bowline/internal/object"
)

// decodeRequestInitializers decodes the field from a request body into the struct that was decoded from it, and
// removes it from strict, the list of unknown fields.
func decodeRequestInitializers(format object.Format, body []byte, into runtime.Object,
	strict []string) ([]string, error) {
	obj := into.(metav1.Object)
	if HasInitializers(obj) {
		setInitializersJSON(obj, nil) // sent by the client
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
	if _, err := parseInitializers(text); err != nil {
		return strict, err
	}
	setInitializersJSON(obj, text)
	return slices.DeleteFunc(strict, func(f string) bool { return f == `unknown field "metadata.initializers"` }), nil
}

// decodeInitializers decodes the field from the output of Marshal.
func decodeInitializers(format object.Format, data []byte, into runtime.Object) error {
	text := object.Initializers(format, data)
	if text == nil {
		return nil
	}
	obj := into.(metav1.Object)
	if format == object.JSON {
		setInitializersJSON(obj, text)
		return nil
	}
	var read Initializers
	if err := read.unmarshal(text); err != nil {
		return fmt.Errorf("metadata.initializers: %w", err)
	}
	SetInitializers(obj, &read)
	return nil
}

// marshalUninitialized implements Marshal for an object that has initializers.
func marshalUninitialized(format object.Format, obj runtime.Object) ([]byte, error) {
	bare := obj.DeepCopyObject()
	text, _ := initializersJSON(bare.(metav1.Object))
	setInitializersJSON(bare.(metav1.Object), nil)
	data, err := Marshal(format, bare)
	if err != nil {
		return nil, err
	}
	read, err := parseInitializers(text)
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

// carriesInitializers reports whether obj is a struct with initializers in its annotation.
func carriesInitializers(obj runtime.Object) bool {
	if _, isMap := obj.(*unstructured.Unstructured); isMap {
		return false
	}
	m, ok := obj.(metav1.Object)
	return ok && HasInitializers(m)
}

// Field numbers of Kubernetes' message Initializers and, for nameNumber, Initializer.
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
