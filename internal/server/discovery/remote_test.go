package discovery_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/server/discovery"
)

// TestResourcesOfOtherServers checks that the order of a list does not matter, and that bad lists are rejected.
func TestResourcesOfOtherServers(t *testing.T) {
	t.Parallel()
	resource := metav1.APIResource{Name: "a", Kind: "A", Verbs: []string{"get"}, Namespaced: true}
	status := metav1.APIResource{Name: "a/status", Kind: "A", Verbs: []string{"get"}, Namespaced: true}
	want := []apidiscovery.APIResourceDiscovery{{
		Resource: "a", ResponseKind: &metav1.GroupVersionKind{Kind: "A"}, Scope: apidiscovery.ScopeNamespace,
		Verbs: []string{"get"},
		Subresources: []apidiscovery.APISubresourceDiscovery{{Subresource: "status",
			ResponseKind: &metav1.GroupVersionKind{Kind: "A"}, Verbs: []string{"get"}}},
	}}
	for _, order := range [][]metav1.APIResource{{resource, status}, {status, resource}, {resource, status, resource}} {
		got, err := discovery.Resources(&metav1.APIResourceList{APIResources: order})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	for _, name := range []string{"", "..", "a/", "/a", "a/b/c", "a%2fb"} {
		bad := &metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: name}}}
		if got, err := discovery.Resources(bad); err == nil {
			t.Errorf("name %q: %v", name, got)
		}
	}
	many := &metav1.APIResourceList{APIResources: make([]metav1.APIResource, 1001)}
	if _, err := discovery.Resources(many); err == nil {
		t.Error("1001 resources are accepted")
	}
}
