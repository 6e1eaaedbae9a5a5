package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

const (
	scalersV1  = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
	scalersV2  = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
	budgetsV1  = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
	templates  = "/api/v1/namespaces/default/podtemplates"
	aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
)

// withAPI turns APIs on or off.
func withAPI(settings ...string) func(*bowline.Options) {
	return func(o *bowline.Options) { o.API = settings }
}

// An API that is off is in no document, and its paths are answered like paths of an unknown group, version or resource.
// The kind is served in its other versions.
func TestAPIsThatAreOff(t *testing.T) {
	t.Parallel()
	w := start(t, withAPI("autoscaling/v1=false", "policy/v1=false", "policy/v1beta1=false", "v1/podtemplates=false"))
	for path, status := range map[string]bool{ // a Status, or the plain page if the whole group is off
		"/apis/autoscaling/v1": true, scalersV1: true, scalersV1 + "/a": true, scalersV1 + "?watch=true": true,
		"/apis/policy": false, "/apis/policy/v1": false, budgetsV1: false, templates: true, templates + "/a": true,
		"/api/v1/podtemplates": true,
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
			r := w.send(t, method, path, `{}`)
			r.want(t, http.StatusNotFound)
			if plain := strings.HasPrefix(string(r.body), "404 page not found"); plain == status {
				t.Errorf("%s %s: %s", method, path, r.body)
			}
		}
	}
	for path, texts := range map[string][]string{
		"/apis": {"policy", "autoscaling/v1"}, "/": {"policy", "autoscaling/v1"}, "/apis/autoscaling": {"autoscaling/v1"},
		"/api/v1": {"podtemplates", "PodTemplate"}, "/openapi/v3": {"apis/policy", "apis/autoscaling/v1"},
		"/openapi/v2":                  {"/apis/policy", "/apis/autoscaling/v1/", "/podtemplates", "/watch/podtemplates"},
		"/openapi/v3/api/v1":           {"/podtemplates"},
		"/openapi/v3/apis/autoscaling": {"autoscaling/v1"},
	} {
		text := string(w.get(t, path).want(t, http.StatusOK).body)
		for _, off := range texts {
			if strings.Contains(text, off) && off != "PodTemplate" || strings.Contains(text, `"`+off+`"`) {
				t.Errorf("%s contains %s", path, off)
			}
		}
	}
	w.get(t, "/openapi/v3/apis/policy/v1").want(t, http.StatusNotFound)
	for _, path := range []string{"/apis", "/api"} {
		text := string(w.get(t, path, "Accept", aggregated).want(t, http.StatusOK).body)
		if strings.Contains(text, "poddisruptionbudgets") || strings.Contains(text, "podtemplates") {
			t.Errorf("the aggregated discovery at %s lists resources that are off: %s", path, text)
		}
	}
	for _, legacy := range []bool{false, true} {
		c := must(discovery.NewDiscoveryClientForConfig(w.config))(t)
		c.UseLegacyDiscovery = legacy
		_, lists, err := c.ServerGroupsAndResources()
		if err != nil {
			t.Fatal(err)
		}
		if resources(lists, "autoscaling/v1") != nil || resources(lists, "policy/v1") != nil ||
			slices.Contains(resources(lists, "v1"), "podtemplates") {
			t.Errorf("legacy %t: discovery lists %v", legacy, lists)
		}
		if names := resources(lists, "autoscaling/v2"); !slices.Contains(names, "horizontalpodautoscalers") {
			t.Errorf("legacy %t: autoscaling/v2 serves %v", legacy, names)
		}
	}
	w.get(t, scalersV2).want(t, http.StatusOK)
}

// The clients of this process see what clients of the network see.
func TestSourceServesNoAPIThatIsOff(t *testing.T) {
	t.Parallel()
	w := start(t, withAPI("autoscaling/v1=false"))
	scalers := autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
	if _, err := w.Source().List(t.Context(), scalers, client.Options{}); err != nil {
		t.Errorf("v2 is on, and a list failed: %v", err)
	}
	scalers.Version = "v1"
	if _, err := w.Source().List(t.Context(), scalers, client.Options{}); !apierrors.IsNotFound(err) {
		t.Errorf("v1 is off, and a list returned %v", err)
	}
	if _, err := w.Source().Watch(t.Context(), scalers, client.Options{}); !apierrors.IsNotFound(err) {
		t.Errorf("v1 is off, and a watch returned %v", err)
	}
}

// Objects and the owners of their fields are unchanged when a version is turned off and on again, even the version in
// which they are stored.
func TestObjectsOutlastAPIsThatAreOff(t *testing.T) {
	t.Parallel()
	journal := storetest.NewJournal()
	w := start(t, storedIn(journal))
	const spec = `"spec":{"scaleTargetRef":{"kind":"Deployment","name":"web","apiVersion":"apps/v1"},"maxReplicas":3`
	w.apply(t, scalersV1+"/a", "me", `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler",
		"metadata":{"name":"a"},`+spec+`,"targetCPUUtilizationPercentage":50}}`).want(t, http.StatusCreated)
	w.create(t, budgetsV1, `{"metadata":{"name":"b"},"spec":{"minAvailable":1}}`)
	w.create(t, templates, `{"metadata":{"name":"c"},"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}`)
	paths := []string{scalersV1 + "/a", scalersV2 + "/a", budgetsV1 + "/b", templates + "/c"}
	before := w.state(t, paths...)

	off := []string{"autoscaling/v2=false", "policy/v1=false", "policy/v1beta1=false", "v1/podtemplates=false"}
	w = w.restartWith(t, journal, withAPI(off...))
	if got := w.state(t, scalersV1+"/a"); !strings.HasPrefix(before, got) {
		t.Errorf("v1, which is on, serves %s, and before that %s", got, before)
	}
	for _, path := range paths[1:] {
		w.get(t, path).want(t, http.StatusNotFound)
	}
	w = w.restart(t, journal)
	if after := w.state(t, paths...); after != before {
		t.Errorf("after the versions were off:\n%s\nnot\n%s", after, before)
	}

	w = w.restartWith(t, journal, withAPI("autoscaling/v1=false"))
	applied := w.apply(t, scalersV2+"/a", "me", `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler",
		"metadata":{"name":"a"},`+spec+`}}`).want(t, http.StatusOK)
	applied.owned(t, `me Apply autoscaling/v2 {"f:spec":{"f:maxReplicas":{},"f:scaleTargetRef":{"f:apiVersion":{},"f:kind":{},"f:name":{}}}}`)
	if names := w.names(t, scalersV2); names != "a" {
		t.Errorf("v2 lists %q, want a", names)
	}
}

// restartWith closes a plane and starts another one with the same journal and other options.
func (w *testPlane) restartWith(t *testing.T, journal *storetest.Journal, change func(*bowline.Options)) *testPlane {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return start(t, storedIn(journal), change)
}
