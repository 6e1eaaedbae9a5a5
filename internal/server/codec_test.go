package server_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	protoserializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

func protobufSerializer() *protoserializer.Serializer {
	return protoserializer.NewSerializer(scheme.Scheme, scheme.Scheme)
}

// readProtobuf decodes an answer in Kubernetes' protobuf envelope.
func readProtobuf(t testing.TB, data []byte) runtime.Object {
	t.Helper()
	obj, _, err := protobufSerializer().Decode(data, nil, nil)
	if err != nil {
		t.Fatalf("%v: %q", err, data)
	}
	return obj
}

// protobufStatus decodes a Status in protobuf, and its content type.
func (r response) protobufStatus(t testing.TB) *metav1.Status {
	t.Helper()
	if got := r.header.Get("Content-Type"); got != protobufType {
		t.Errorf("content type %q, want %q", got, protobufType)
	}
	status, ok := readProtobuf(t, r.body).(*metav1.Status)
	if !ok {
		t.Fatalf("no Status: %q", r.body)
	}
	return status
}
