package networking

import (
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/deprecation"

	"github.com/bowline-dev/bowline/internal/kind"
)

// Versions of the group's kinds that Kubernetes removed and old manifests still use. Kubernetes 1.16 removed the
// network policies of the extensions group, and 1.22 the other kinds. Only the old ingresses differ from the hub
// (oldIngresses): the JSON and protobuf of the other kinds, and their defaults and rules, are those of
// networking.k8s.io/v1.
var (
	beta1      = networkingv1beta1.SchemeGroupVersion
	extensions = extensionsv1beta1.SchemeGroupVersion
)

// oldEndpoint returns the endpoint of a kind in an old version, with Kubernetes' deprecation warning. obj is an empty
// object of that version.
func oldEndpoint(gv schema.GroupVersion, kindName string, obj runtime.Object) kind.Endpoint {
	obj.GetObjectKind().SetGroupVersionKind(gv.WithKind(kindName))
	return kind.Endpoint{Group: gv.Group, Version: gv.Version, Deprecated: deprecation.WarningMessage(obj)}
}
