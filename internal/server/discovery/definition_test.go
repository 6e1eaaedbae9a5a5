package discovery_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientdiscovery "k8s.io/client-go/discovery"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/discovery"
)

func TestResourcesOfEachVersion(t *testing.T) {
	t.Parallel()
	h := discovery.New(kind.NewRegistry(definition(t, "example.com")), nil)
	var list apidiscovery.APIGroupDiscoveryList
	if err := json.Unmarshal(get(h, "/apis", clientdiscovery.AcceptV2).Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	verbs := []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	network := func(version string) *metav1.GroupVersionKind {
		return &metav1.GroupVersionKind{Group: "example.com", Version: version, Kind: "Network"}
	}
	resource := func(version string, more ...apidiscovery.APISubresourceDiscovery) []apidiscovery.APIResourceDiscovery {
		return []apidiscovery.APIResourceDiscovery{{
			Resource: "networks", ResponseKind: network(version), Scope: apidiscovery.ScopeNamespace,
			SingularResource: "network",
			Verbs:            verbs, ShortNames: []string{"net"}, Categories: []string{"all"},
			Subresources: append([]apidiscovery.APISubresourceDiscovery{
				{Subresource: "status", ResponseKind: network(version), Verbs: readWrite},
			}, more...),
		}}
	}
	want := []apidiscovery.APIVersionDiscovery{
		{Version: "v1", Freshness: apidiscovery.DiscoveryFreshnessCurrent, Resources: resource("v1")},
		{Version: "v1beta1", Freshness: apidiscovery.DiscoveryFreshnessCurrent,
			Resources: resource("v1beta1", apidiscovery.APISubresourceDiscovery{
				Subresource: "scale", ResponseKind: &metav1.GroupVersionKind{Group: "autoscaling", Version: "v1",
					Kind: "Scale"}, Verbs: readWrite,
			})},
	}
	if d := cmp.Diff(want, list.Items[0].Versions); d != "" {
		t.Error(d)
	}
	if w := get(h, "/apis/example.com/v2alpha1", "application/json"); w.Code != 0 {
		t.Errorf("a version that is not served: %d", w.Code)
	}
	var names []string
	for _, r := range parse(t, get(h, "/apis/example.com/v1",
		"application/json").Body.Bytes()).(map[string]any)["resources"].([]any) {
		names = append(names, r.(map[string]any)["name"].(string))
	}
	if d := cmp.Diff([]string{"networks", "networks/status"}, names); d != "" {
		t.Error(d)
	}
}

// When one group changes, the cached parts of other groups are reused, and the document equals a new one.
func TestAggregateAfterGroupChange(t *testing.T) {
	t.Parallel()
	registry := kind.NewRegistry(append(recordedKinds(), definition(t, "a.example.com"),
		customKind("b.example.com", "v1"))...)
	h := discovery.New(registry, nil)
	media := []string{clientdiscovery.AcceptV2,
		"application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
	for _, change := range []func(){
		func() {},
		func() { registry.Put(definition(t, "c.example.com")) },
		func() { registry.Put(customKind("b.example.com", "v2")) },
		func() { registry.Remove(schema.GroupResource{Group: "a.example.com", Resource: "networks"}) },
	} {
		change()
		for _, path := range []string{"/api", "/apis"} {
			for _, m := range media {
				got, want := get(h, path, m), get(discovery.New(registry, nil), path, m)
				if got.Code != http.StatusOK || !bytes.Equal(got.Body.Bytes(), want.Body.Bytes()) {
					t.Errorf("%s as %s: %d %s\nwant %s", path, m, got.Code, got.Body, want.Body)
				}
			}
		}
	}
}

// BenchmarkAggregateAfterChange measures the aggregated document of 1,000 definitions after a change of one.
func BenchmarkAggregateAfterChange(b *testing.B) {
	kinds := recordedKinds()
	for i := range 1000 {
		kinds = append(kinds, definition(b, fmt.Sprintf("g%d.example.com", i)))
	}
	registry := kind.NewRegistry(kinds...)
	h := discovery.New(registry, nil)
	changed := definition(b, "g500.example.com")
	b.SetBytes(int64(get(h, "/apis", clientdiscovery.AcceptV2).Body.Len()))
	for b.Loop() {
		registry.Put(changed)
		changed = definition(b, "g500.example.com")
		if w := get(h, "/apis", clientdiscovery.AcceptV2); w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}
