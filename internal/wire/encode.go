package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Encode returns the JSON of a value.
func Encode(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("writing a %T: %w", value, err)
	}
	return data, nil
}

// EncodeAs encodes an object. If it has no kind and apiVersion, as typed objects usually do, EncodeAs adds
// those of kind.
func EncodeAs(obj Object, kind schema.GroupVersionKind) ([]byte, error) {
	data, err := Encode(obj)
	if err != nil || !obj.GetObjectKind().GroupVersionKind().Empty() {
		return data, err
	}
	return withKind(data, kind), nil
}

// withKind inserts kind and apiVersion before the fields of a JSON object that has neither.
func withKind(data []byte, kind schema.GroupVersionKind) []byte {
	head := fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q`, kind.Kind, kind.GroupVersion())
	if rest := bytes.TrimSpace(data[1:]); rest[0] != '}' {
		head = append(head, ',')
	}
	return append(head, data[1:]...)
}

// Decode decodes an object from JSON. The caller owns the result. If the JSON does not fit T, the error is a
// *DecodeError.
func Decode[T Object](data []byte) (T, error) { return DecodeAs[T](data, schema.GroupVersionKind{}) }

// DecodeInto is like Decode but decodes into obj, which must be empty, for types that are known only at run
// time.
func DecodeInto(data []byte, obj Object) error {
	return decodeInto(data, obj, schema.GroupVersionKind{})
}

// DecodeAs decodes an object from JSON. Unstructured objects without a kind get the given one.
func DecodeAs[T Object](data []byte, kind schema.GroupVersionKind) (T, error) {
	obj, ok := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	if !ok {
		return obj, fmt.Errorf("objects are read into pointers to structs, not into %T", obj)
	}
	return obj, decodeInto(data, obj, kind)
}

func decodeInto(data []byte, obj Object, kind schema.GroupVersionKind) error {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return decodeUnstructured(u, data, kind)
	}
	if err := utiljson.Unmarshal(data, obj); err != nil {
		return NewDecodeError(data, obj, err)
	}
	return nil
}

func decodeUnstructured(u *unstructured.Unstructured, data []byte, kind schema.GroupVersionKind) error {
	if err := utiljson.Unmarshal(data, &u.Object); err != nil {
		return NewDecodeError(data, u, err)
	}
	if u.GetKind() == "" {
		u.SetGroupVersionKind(kind)
	}
	return nil
}

// List is a list whose items are not decoded yet.
type List struct {
	metav1.TypeMeta
	Metadata metav1.ListMeta   `json:"metadata"`
	Items    []json.RawMessage `json:"items"`
	// Protobuf states that the items are protobuf messages without an envelope.
	Protobuf bool `json:"-"`
}

func decodeList(data []byte) (*List, error) {
	list := &List{}
	if err := utiljson.Unmarshal(data, list); err != nil {
		return nil, err
	}
	return list, nil
}

// ItemKind returns the kind of the items: items of a typed list do not state their own.
func (l *List) ItemKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(l.APIVersion, strings.TrimSuffix(l.Kind, "List"))
}
