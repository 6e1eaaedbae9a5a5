package server_test

import (
	"net/http"
	"slices"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// The plain and the aggregated documents of discovery agree, read directly and with client-go.
func TestAggregatedDiscoveryMatchesLegacy(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, legacy := range []bool{false, true} {
		client := must(discovery.NewDiscoveryClientForConfig(w.config))(t)
		client.UseLegacyDiscovery = legacy
		groups, lists, err := client.ServerGroupsAndResources()
		if err != nil {
			t.Fatal(err)
		}
		if got := groups[0]; got.Name != "" || got.PreferredVersion.Version != "v1" {
			t.Errorf("legacy %t: the first group is %+v, want the core group", legacy, got)
		}
		if names := resources(lists, "v1"); !slices.Contains(names, "pods") ||
			!slices.Contains(names, "pods/binding") || !slices.Contains(names, "namespaces/finalize") {
			t.Errorf("legacy %t: core v1 serves %v", legacy, names)
		}
		if names := resources(lists, "apps/v1"); !slices.Contains(names, "deployments/scale") {
			t.Errorf("legacy %t: apps/v1 serves %v", legacy, names)
		}
	}
}

func resources(lists []*metav1.APIResourceList, gv string) []string {
	var names []string
	for _, list := range lists {
		if list.GroupVersion == gv {
			for _, r := range list.APIResources {
				names = append(names, r.Name)
			}
		}
	}
	return names
}

func TestAggregatedDiscoveryByAccept(t *testing.T) {
	t.Parallel()
	w := start(t)
	accept := "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	for path, group := range map[string]string{"/api": "", "/apis": "apps"} {
		r := w.get(t, path, "Accept", accept).want(t, http.StatusOK)
		if got := r.header.Get("Content-Type"); got != accept {
			t.Errorf("%s: content type %q, want %q", path, got, accept)
		}
		var list apidiscoveryv2.APIGroupDiscoveryList
		r.into(t, &list)
		if !slices.ContainsFunc(list.Items, func(g apidiscoveryv2.APIGroupDiscovery) bool { return g.Name == group }) {
			t.Errorf("%s: no group %q: %s", path, group, r.body)
		}
		etag := r.header.Get("Etag")
		if etag == "" {
			t.Errorf("%s: no ETag", path)
		}
		w.get(t, path, "Accept", accept, "If-None-Match", etag).want(t, http.StatusNotModified)
	}
}

// Discovery shows the resource of a definition as soon as its create has returned.
func TestDiscoveryListsNewDefinition(t *testing.T) {
	t.Parallel()
	w := start(t)
	if got := w.get(t, "/apis/example.com").code; got != http.StatusNotFound {
		t.Fatalf("the group is served before the definition: %d", got)
	}
	define(t, w, widgets())
	client := must(discovery.NewDiscoveryClientForConfig(w.config))(t)
	list, err := client.ServerResourcesForGroupVersion("example.com/v1")
	if err != nil {
		t.Fatal(err)
	}
	got := list.APIResources[0]
	if got.Name != "widgets" || got.Kind != "Widget" || !got.Namespaced ||
		!slices.Equal(got.ShortNames, []string{"wd"}) || len(got.Verbs) != 8 {
		t.Errorf("discovered %+v", got)
	}
	undefine(t, w, "widgets.example.com")
	if got := w.get(t, "/apis/example.com").code; got != http.StatusNotFound {
		t.Errorf("the group is served after the delete of its last definition: %d", got)
	}
}
