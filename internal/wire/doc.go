// Package wire encodes and decodes objects in the forms in which Kubernetes API servers send them: JSON and protobuf;
// single objects, lists, and the events of a watch. It reads lists and watches as they arrive and bounds the memory
// that a server can make it use. It sends no requests: package client does, and informers decode with it the objects
// that a source over the network returned.
package wire

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is a pointer to a typed API struct, or *unstructured.Unstructured.
type Object interface {
	runtime.Object
	metav1.Object
}
