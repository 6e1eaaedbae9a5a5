package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/internal/kind"
)

// connection returns a subresource that opens streams to a container or a pod. Its body, as plugins see it, consists of
// the parameters of the request, as an object of the kind options.
func connection(name, options string) kind.Subresource {
	return kind.Subresource{
		Name: name, Kind: corev1.SchemeGroupVersion.WithKind(options), Verbs: []string{"create", "get"},
		New: newOptions, Connect: &kind.Connect{},
	}
}

// proxy returns the subresource that forwards any request.
func proxy(options string) kind.Subresource {
	s := connection("proxy", options)
	s.Verbs, s.Connect = []string{"create", "delete", "get", "patch", "update"}, &kind.Connect{Proxy: true}
	return s
}

// newOptions returns the object that holds the options of a connection. It is not a typed struct, because options have
// no metadata.
func newOptions() runtime.Object { return &unstructured.Unstructured{} }
