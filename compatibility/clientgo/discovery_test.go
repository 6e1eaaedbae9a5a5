package clientgo

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/openapi"

	"github.com/bowline-dev/bowline/compatibility/plane"
)

func discoveryClient(t *testing.T) (*discovery.DiscoveryClient, func()) {
	t.Helper()
	config := plane.Start(t)
	return plane.Must(discovery.NewDiscoveryClientForConfig(config))(t), func() {
		plane.Define(t, config, plane.Widgets(t))
	}
}

// names returns group/version/resource of all resources without subresources, sorted.
func names(lists []*metav1.APIResourceList) []string {
	var all []string
	for _, l := range lists {
		for _, r := range l.APIResources {
			if !strings.Contains(r.Name, "/") {
				all = append(all, l.GroupVersion+"/"+r.Name)
			}
		}
	}
	slices.Sort(all)
	return all
}

func TestAggregatedAndLegacyDiscoveryAgree(t *testing.T) {
	t.Parallel()
	client, define := discoveryClient(t)
	define()
	groups, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	legacyGroups, legacyLists, err := client.WithLegacy().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) != len(legacyGroups) || !slices.Equal(names(lists), names(legacyLists)) {
		t.Errorf("aggregated %v %v\nlegacy     %v %v", groups, names(lists), legacyGroups, names(legacyLists))
	}
	if !slices.Contains(names(lists), "example.com/v1/widgets") || !slices.Contains(names(lists), "v1/pods") {
		t.Errorf("got resources %v, want widgets and pods among them", names(lists))
	}
}

func TestPreferredResourcesAreOneVersionOfEach(t *testing.T) {
	t.Parallel()
	client, define := discoveryClient(t)
	define()
	preferred := names(plane.Must(client.ServerPreferredResources())(t))
	for _, name := range []string{"apps/v1/deployments", "v1/nodes", "example.com/v1/widgets",
		"apiextensions.k8s.io/v1/customresourcedefinitions"} {
		if !slices.Contains(preferred, name) {
			t.Errorf("got preferred resources %v, want %s among them", preferred, name)
		}
	}
	if slices.Contains(preferred, "apiextensions.k8s.io/v1beta1/customresourcedefinitions") {
		t.Errorf("got preferred resources %v, want one version of each", preferred)
	}
	namespaced := names(plane.Must(client.ServerPreferredNamespacedResources())(t))
	if slices.Contains(namespaced, "v1/nodes") || !slices.Contains(namespaced, "v1/pods") {
		t.Errorf("got namespaced resources %v, want pods and no nodes", namespaced)
	}
	if v := plane.Must(client.ServerVersion())(t); v.Major != "1" || v.Minor != "37" {
		t.Errorf("got version %v, want 1.37", v)
	}
}

func TestCachedDiscoveryIsFreshAfterInvalidation(t *testing.T) {
	t.Parallel()
	config := plane.Start(t)
	dir := t.TempDir()
	caches := map[string]discovery.CachedDiscoveryInterface{
		"memory": memory.NewMemCacheClient(plane.Must(discovery.NewDiscoveryClientForConfig(config))(t)),
		"disk": plane.Must(disk.NewCachedDiscoveryClientForConfig(config, dir+"/discovery", dir+"/http",
			time.Hour))(t),
	}
	before := map[string][]string{}
	for name, cache := range caches {
		before[name] = names(plane.Must(cache.ServerPreferredResources())(t))
	}
	plane.Define(t, config, plane.Widgets(t))
	for name, cache := range caches {
		if now := names(plane.Must(cache.ServerPreferredResources())(t)); !slices.Equal(now, before[name]) {
			t.Errorf("%s: got %v from the cache, want the resources from before the definition", name, now)
		}
		cache.Invalidate()
		now := names(plane.Must(cache.ServerPreferredResources())(t))
		if !slices.Contains(now, "example.com/v1/widgets") || len(now) != len(before[name])+1 {
			t.Errorf("%s: after invalidation: got %v, want widgets in addition", name, now)
		}
		if !cache.Fresh() {
			t.Errorf("%s: after a read: got Fresh false, want true", name)
		}
	}
}

func TestOpenAPIV3ClientReadsEachGroupAsJSONAndProtobuf(t *testing.T) {
	t.Parallel()
	client, define := discoveryClient(t)
	before := plane.Must(client.OpenAPIV3().Paths())(t)
	define()
	paths := plane.Must(client.OpenAPIV3().Paths())(t)
	if paths["api/v1"].ServerRelativeURL() != before["api/v1"].ServerRelativeURL() {
		t.Error("a definition changed the hash of another group")
	}
	for _, contentType := range []string{runtime.ContentTypeJSON, openapi.ContentTypeOpenAPIV3PB} {
		for path, text := range map[string]string{"apis/example.com/v1": "color", "apis/apps/v1": "DeploymentSpec"} {
			document := plane.Must(paths[path].Schema(contentType))(t)
			if !strings.Contains(string(document), text) {
				t.Errorf("%s as %s: got no %q in the document", path, contentType, text)
			}
		}
	}
}
