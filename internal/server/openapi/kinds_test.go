package openapi_test

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

var readWrite = []string{"get", "patch", "update"}

func builtinKinds() []kind.Kind {
	cache := object.NewCache(1 << 20)
	core := []kind.Endpoint{{Version: "v1"}}
	return []kind.Kind{
		kind.NewTyped(cache, kind.Info{
			Kind: "Pod", Plural: "pods", Singular: "pod", Namespaced: true, Endpoints: core,
			Subresources: []kind.Subresource{
				{Name: "status", Verbs: readWrite},
				{Name: "eviction", Kind: schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"},
					Verbs: []string{"create"}},
			},
		}, kind.Rules[*corev1.Pod]{}),
		kind.NewTyped(cache, kind.Info{
			Kind: "Namespace", Plural: "namespaces", Singular: "namespace", Endpoints: core,
			Verbs: []string{"create", "delete", "get", "list", "patch", "update", "watch"},
		}, kind.Rules[*corev1.Namespace]{}),
		kind.NewTyped(cache, kind.Info{
			Kind: "Event", Plural: "events", Singular: "event", Namespaced: true,
			Endpoints: []kind.Endpoint{{Version: "v1"}, {Group: "events.k8s.io", Version: "v1"}},
		}, kind.Rules[*corev1.Event]{Versions: map[string]kind.Version[*corev1.Event]{
			"events.k8s.io/v1": {New: func() runtime.Object { return &eventsv1.Event{} }},
		}}),
		kind.NewTyped(cache, kind.Info{
			Kind: "Deployment", Plural: "deployments", Singular: "deployment", Namespaced: true,
			Endpoints: []kind.Endpoint{{Group: "apps", Version: "v1"}, {Group: "apps", Version: "v1beta2"}},
			Subresources: []kind.Subresource{
				{Name: "scale", Kind: schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"},
					Verbs: readWrite},
			},
		}, kind.Rules[*appsv1.Deployment]{}),
	}
}

// customKind is a kind with a custom schema.
type customKind struct {
	kind.Kind
	schema    []byte
	preserves bool
}

func (k customKind) RawSchema(string) []byte { return k.schema }

func (k customKind) PreservesUnknownFields() bool { return k.preserves }

func (k customKind) Prototype(string) runtime.Object { return nil }

// The other methods of kind.Custom are not called for documents.

func (k customKind) APIVersion() string {
	return k.Info().Endpoints[0].APIVersion()
}
func (k customKind) In(string) kind.Kind                                             { return nil }
func (k customKind) ToStorage(obj kind.Object) (kind.Kind, kind.Object, error)       { return k, obj, nil }
func (k customKind) Codec() object.Codec                                             { return k }
func (k customKind) Translate(obj runtime.Object, _ string) (runtime.Object, error)  { return obj, nil }
func (k customKind) ReceiveMerged(u *unstructured.Unstructured) (kind.Object, error) { return u, nil }
func (k customKind) ReceiveMap(u *unstructured.Unstructured, _ bool) (kind.Object, []string, error) {
	return u, nil, nil
}
func (k customKind) Ended() <-chan struct{} { return nil }
func (k customKind) CallsWebhook() bool     { return false }

var _ kind.Custom = customKind{}

func newCustomKind(group string, schema *apiextensionsv1.JSONSchemaProps) kind.Kind {
	k := kind.NewTyped(object.NewCache(1<<20), kind.Info{
		Kind: "Network", Plural: "networks", Singular: "network", Namespaced: true,
		Endpoints: []kind.Endpoint{{Group: group, Version: "v1"}},
	}, kind.Rules[*metav1.PartialObjectMetadata]{})
	k.Info().Builtin = false
	custom := &customKind{Kind: k}
	if schema != nil {
		custom.schema, _ = json.Marshal(schema) // such schemas always marshal
	}
	return custom
}

var networkSchema = &apiextensionsv1.JSONSchemaProps{
	Type: "object", Description: "A Network is a range of addresses.",
	Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"spec": {Type: "object", Required: []string{"cidr"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"cidr":     {Type: "string", Description: "The range in CIDR notation."},
			"template": {Type: "object", XEmbeddedResource: true, XPreserveUnknownFields: new(true)},
		}},
	},
}
