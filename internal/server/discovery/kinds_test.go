package discovery_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/structural"
	"github.com/bowline-dev/bowline/internal/object"
)

var readWrite = []string{"get", "patch", "update"}

// recordedKinds returns some kinds, as described in facts/api.jsonl and facts/apis.jsonl.
func recordedKinds() []kind.Kind {
	cache := object.NewCache(1 << 20)
	scale := kind.Subresource{Name: "scale",
		Kind: schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, Verbs: readWrite}
	status := kind.Subresource{Name: "status", Verbs: readWrite}
	return []kind.Kind{
		kind.NewTyped(cache, kind.Info{
			Kind: "Event", Plural: "events", Singular: "event", ShortNames: []string{"ev"}, Namespaced: true,
			Endpoints: []kind.Endpoint{{Version: "v1"}, {Group: "events.k8s.io", Version: "v1"}},
		}, kind.Rules[*corev1.Event]{Versions: map[string]kind.Version[*corev1.Event]{
			"events.k8s.io/v1": {New: func() runtime.Object { return &eventsv1.Event{} }},
		}}),
		kind.NewTyped(cache, kind.Info{
			Kind: "Deployment", Plural: "deployments", Singular: "deployment", ShortNames: []string{"deploy"},
			Categories: []string{"all"}, Namespaced: true, Endpoints: []kind.Endpoint{{Group: "apps", Version: "v1"}},
			Subresources: []kind.Subresource{status, scale},
		}, kind.Rules[*appsv1.Deployment]{}),
		kind.NewTyped(cache, kind.Info{
			Kind: "ConfigMap", Plural: "configmaps", Singular: "configmap", ShortNames: []string{"cm"},
			Namespaced: true,
			Endpoints:  []kind.Endpoint{{Version: "v1"}},
		}, kind.Rules[*corev1.ConfigMap]{}),
		kind.NewTyped(cache, kind.Info{
			Kind: "Namespace", Plural: "namespaces", Singular: "namespace", ShortNames: []string{"ns"},
			Verbs:        []string{"create", "delete", "get", "list", "patch", "update", "watch"},
			Endpoints:    []kind.Endpoint{{Version: "v1"}},
			Subresources: []kind.Subresource{status, {Name: "finalize", Verbs: []string{"update"}}},
		}, kind.Rules[*corev1.Namespace]{}),
	}
}

func customKind(group, version string) kind.Kind {
	return kind.NewTyped(object.NewCache(1<<20), kind.Info{
		Kind: "Network", Plural: "networks", Singular: "network", Namespaced: true,
		Endpoints: []kind.Endpoint{{Group: group, Version: version}},
	}, kind.Rules[*metav1.PartialObjectMetadata]{})
}

// definition returns a custom kind with two served versions, of which only v1beta1 has a scale, and one that
// is not served.
func definition(t testing.TB, group string) kind.Kind {
	t.Helper()
	scale := &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.replicas",
		StatusReplicasPath: ".status.replicas"}
	status := &apiextensionsv1.CustomResourceSubresourceStatus{}
	k, err := structural.New(object.NewCache(1<<20), &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "networks." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "networks", Singular: "network", Kind: "Network", ListKind: "NetworkList",
				ShortNames: []string{"net"}, Categories: []string{"all"},
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1beta1", Served: true, Deprecated: true,
					Subresources: &apiextensionsv1.CustomResourceSubresources{Status: status, Scale: scale}},
				{Name: "v1", Served: true, Storage: true,
					Subresources: &apiextensionsv1.CustomResourceSubresources{Status: status}},
				{Name: "v2alpha1"},
			},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
