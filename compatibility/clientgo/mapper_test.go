package clientgo

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

// TestMapperFindsNewDefinitions checks that the deferred mapper queries the server at its first use and
// after a reset.
func TestMapperFindsNewDefinitions(t *testing.T) {
	t.Parallel()
	config := plane.Start(t)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(
		memory.NewMemCacheClient(plane.Must(discovery.NewDiscoveryClientForConfig(config))(t)))
	kind := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	if _, err := mapper.RESTMapping(kind); !meta.IsNoMatchError(err) {
		t.Errorf("before the definition: got error %v, want NoMatch", err)
	}
	plane.Define(t, config, plane.Widgets(t))
	mapper.Reset()
	mapping := plane.Must(mapper.RESTMapping(kind))(t)
	if mapping.Resource != widgets || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		t.Errorf("got mapping %v, want %v, namespaced", mapping, widgets)
	}
	nodes := plane.Must(mapper.RESTMapping(schema.GroupKind{Kind: "Node"}, "v1"))(t)
	if nodes.Scope.Name() != meta.RESTScopeNameRoot {
		t.Errorf("nodes: got scope %v, want root", nodes.Scope.Name())
	}
	if s := plane.Must(mapper.ResourceSingularizer("widgets"))(t); s != "widget" {
		t.Errorf("singular of widgets: got %s, want widget", s)
	}
}

func TestShortNamesAndCategoriesExpand(t *testing.T) {
	t.Parallel()
	client, define := discoveryClient(t)
	define()
	groups := plane.Must(restmapper.GetAPIGroupResources(client))(t)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(groups), client, func(warning string) {
		t.Error(warning)
	})
	for short, want := range map[string]schema.GroupVersionResource{
		"cm":     {Version: "v1", Resource: "configmaps"},
		"deploy": {Group: "apps", Version: "v1", Resource: "deployments"},
		"wd":     widgets, "crd": {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		"pod": {Version: "v1", Resource: "pods"},
	} {
		if got := plane.Must(mapper.ResourceFor(schema.GroupVersionResource{Resource: short}))(t); got != want {
			t.Errorf("short name %s: got %v, want %v", short, got, want)
		}
	}
	all, ok := restmapper.NewDiscoveryCategoryExpander(client).Expand("all")
	if !ok || !slices.Contains(all, widgets.GroupResource()) ||
		!slices.Contains(all, schema.GroupResource{Resource: "pods"}) {
		t.Errorf("category all: got %v, want widgets and pods among them", all)
	}
}
