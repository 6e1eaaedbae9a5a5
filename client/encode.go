package client

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

// encode writes JSON.
func encode(value any) ([]byte, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("writing a %T: %w", value, err)
	}
	return data, nil
}

// encodeAs writes an object, which typed objects without kind and apiVersion get from the resource that they are
// sent to.
func encodeAs(obj Object, kind schema.GroupVersionKind) ([]byte, error) {
	data, err := encode(obj)
	if err != nil || !obj.GetObjectKind().GroupVersionKind().Empty() {
		return data, err
	}
	return withKind(data, kind), nil
}

// withKind puts kind and apiVersion in front of the fields of a JSON object that has neither.
func withKind(data []byte, kind schema.GroupVersionKind) []byte {
	head := fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q`, kind.Kind, kind.GroupVersion())
	if rest := bytes.TrimSpace(data[1:]); rest[0] != '}' {
		head = append(head, ',')
	}
	return append(head, data[1:]...)
}

// Decode reads an object from its JSON. The result belongs to the caller. What does not fit is a *DecodeError.
func Decode[T Object](data []byte) (T, error) { return decode[T](data, schema.GroupVersionKind{}) }

// DecodeInto is Decode into an empty object, of a type that is known only when the program runs.
func DecodeInto(data []byte, obj Object) error {
	return decodeInto(data, obj, schema.GroupVersionKind{})
}

// decode reads an object, of that kind if it does not say which itself. The result belongs to the caller.
func decode[T Object](data []byte, kind schema.GroupVersionKind) (T, error) {
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
		return decodeError(data, obj, err)
	}
	return nil
}

func decodeUnstructured(u *unstructured.Unstructured, data []byte, kind schema.GroupVersionKind) error {
	if err := utiljson.Unmarshal(data, &u.Object); err != nil {
		return decodeError(data, u, err)
	}
	if u.GetKind() == "" {
		u.SetGroupVersionKind(kind)
	}
	return nil
}

// rawList is a list whose items are not read yet.
type rawList struct {
	metav1.TypeMeta
	Metadata metav1.ListMeta   `json:"metadata"`
	Items    []json.RawMessage `json:"items"`
	protobuf bool              // the items are messages, without an envelope
}

func decodeList(data []byte) (*rawList, error) {
	list := &rawList{}
	if err := utiljson.Unmarshal(data, list); err != nil {
		return nil, err
	}
	return list, nil
}

// itemKind is what the items of a typed list are, which do not say so themselves.
func (l *rawList) itemKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(l.APIVersion, strings.TrimSuffix(l.Kind, "List"))
}
