package discovery_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/discovery"
)

// get calls a handler; status 0 means that the handler ignored the request.
func get(h *discovery.Handler, path, accept string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "https://127.0.0.1:6443"+path, nil)
	r.Header.Set("Accept", accept)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	if !h.Serve(w, r) {
		w.Code = 0
	}
	return w
}

// recordedStep returns the decoded answer of a step of discovery.json.
func recordedStep(t *testing.T, index int) any {
	t.Helper()
	return golden.Steps(t, "discovery.json")[index].Response.JSON(t)
}

func parse(t *testing.T, body []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return v
}

func TestLegacyDocumentsMatchRecording(t *testing.T) {
	t.Parallel()
	h := discovery.New(kind.NewRegistry(recordedKinds()...), nil)
	versions := recordedStep(t, 0)
	versions.(map[string]any)["serverAddressByClientCIDRs"].([]any)[0].(map[string]any)["serverAddress"] = "127.0.0.1:6443"
	if d := cmp.Diff(versions, parse(t, get(h, "/api", "application/json").Body.Bytes())); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(recordedStep(t, 3), parse(t, get(h, "/apis/apps", "application/json").Body.Bytes())); d != "" {
		t.Error(d)
	}
	want := recordedStep(t, 2).(map[string]any)
	answered := parse(t, get(h, "/api/v1", "application/json").Body.Bytes()).(map[string]any)
	for _, got := range answered["resources"].([]any) {
		got := got.(map[string]any)
		for _, want := range want["resources"].([]any) {
			want := want.(map[string]any)
			if want["name"] != got["name"] {
				continue
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%v: %s", got["name"], d)
			}
		}
	}
}

func TestAggregateMatchesRecording(t *testing.T) {
	t.Parallel()
	facts := map[string]any{}
	for _, file := range []string{"api", "apis"} {
		for line := range bytes.Lines(golden.File(t, "facts/"+file+".jsonl")) {
			fact := parse(t, line).(map[string]any)
			key := fact["groupVersion"].(string) + " " + fact["resource"].(string)
			delete(fact, "groupVersion")
			facts[key] = fact
		}
	}
	h := discovery.New(kind.NewRegistry(recordedKinds()...), nil)
	compared := 0
	for _, path := range []string{"/api", "/apis"} {
		var list apidiscovery.APIGroupDiscoveryList
		w := get(h, path, clientdiscovery.AcceptV2)
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		for _, g := range list.Items {
			for _, r := range g.Versions[0].Resources {
				data, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				key := schema.GroupVersion{Group: g.Name, Version: g.Versions[0].Version}.String() + " " + r.Resource
				if d := cmp.Diff(facts[key], parse(t, data)); d != "" {
					t.Errorf("%s: %s", key, d)
				}
				compared++
			}
		}
	}
	if compared != 5 {
		t.Errorf("compared %d resources, want 5", compared)
	}
}

func TestClientGoDiscovery(t *testing.T) {
	t.Parallel()
	h := discovery.New(kind.NewRegistry(append(recordedKinds(), customKind("example.com", "v1"))...), nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.Serve(w, r) {
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf} {
		for _, legacy := range []bool{true, false} {
			config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{AcceptContentTypes: media}}
			client := clientdiscovery.NewDiscoveryClientForConfigOrDie(config)
			client.UseLegacyDiscovery = legacy
			groups, lists, err := client.ServerGroupsAndResources()
			if err != nil {
				t.Fatalf("%s legacy=%v: %v", media, legacy, err)
			}
			if len(groups) != 4 || len(lists) != 4 {
				t.Errorf("%s legacy=%v: %d groups, %d lists, want 4 of each", media, legacy, len(groups), len(lists))
			}
		}
	}
}

func TestGroupOrder(t *testing.T) {
	t.Parallel()
	kinds := append([]kind.Kind{customKind("z.example.com", "v1"), customKind("a.example.com", "v1")},
		recordedKinds()...)
	h := discovery.New(kind.NewRegistry(kinds...), nil)
	var list metav1.APIGroupList
	if err := json.Unmarshal(get(h, "/apis", "").Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range list.Groups {
		names = append(names, g.Name)
	}
	if d := cmp.Diff([]string{"apps", "events.k8s.io", "a.example.com", "z.example.com"}, names); d != "" {
		t.Error(d)
	}
}

func TestAggregateNotModified(t *testing.T) {
	t.Parallel()
	registry := kind.NewRegistry(recordedKinds()...)
	h := discovery.New(registry, nil)
	tag := get(h, "/apis", clientdiscovery.AcceptV2).Header().Get("ETag")
	if w := get(h, "/apis", clientdiscovery.AcceptV2, "If-None-Match", tag); w.Code != http.StatusNotModified ||
		w.Body.Len() > 0 {
		t.Errorf("unchanged: %d with %d bytes", w.Code, w.Body.Len())
	}
	registry.Put(customKind("example.com", "v1"))
	if w := get(h, "/apis", clientdiscovery.AcceptV2, "If-None-Match", tag); w.Code != http.StatusOK {
		t.Errorf("after a kind was added: %d", w.Code)
	}
	if w := get(h, "/apis/example.com/v1", "application/json"); w.Code != http.StatusOK {
		t.Errorf("the added group-version: %d", w.Code)
	}
	registry.Remove(schema.GroupResource{Group: "example.com", Resource: "networks"})
	if w := get(h, "/apis/example.com/v1", "application/json"); w.Code != 0 {
		t.Errorf("the removed group-version: %d", w.Code)
	}
}

func TestContentNegotiation(t *testing.T) {
	t.Parallel()
	h := discovery.New(kind.NewRegistry(recordedKinds()...), nil)
	const v2beta1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
	const table = "application/json;g=meta.k8s.io;v=v1;as=Table"
	for _, c := range []struct{ path, accept, contentType string }{
		{"/apis", "", "application/json"},
		{"/apis/", "*/*", "application/json"},
		{"/apis", "text/html, application/yaml", "application/yaml"},
		{"/apis", "application/json;q=0.5, application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"},
		{"/apis", clientdiscovery.AcceptV2, clientdiscovery.AcceptV2},
		{"/apis", v2beta1, v2beta1},
		{"/apis", clientdiscovery.AcceptV2NoPeer, clientdiscovery.AcceptV2},
		{"/apis", clientdiscovery.AcceptV2NoPeer + "," + clientdiscovery.AcceptV2 + ",application/json",
			clientdiscovery.AcceptV2},
		{"/apis", "application/json, " + clientdiscovery.AcceptV2, clientdiscovery.AcceptV2},
		{"/apis", "application/json, " + clientdiscovery.AcceptV2 + ";q=0", "application/json"},
		{"/apis", v2beta1 + "," + clientdiscovery.AcceptV2, v2beta1},
		{"/api", strings.Replace(clientdiscovery.AcceptV2, "json", "yaml", 1),
			strings.Replace(clientdiscovery.AcceptV2, "json", "yaml", 1)},
		{"/apis", "*/*;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", clientdiscovery.AcceptV2},
		{"/apis", table + ",application/json", "application/json"},
		{"/apis/apps/v1", clientdiscovery.AcceptV2 + ",application/json", "application/json"},
	} {
		if w := get(h, c.path, c.accept); w.Code != http.StatusOK || w.Header().Get("Content-Type") != c.contentType {
			t.Errorf("%s as %q: %d %q, want %q", c.path, c.accept, w.Code, w.Header().Get("Content-Type"),
				c.contentType)
		}
	}
	for _, c := range []struct{ path, accept string }{
		{"/apis/apps/v1", clientdiscovery.AcceptV2}, {"/apis", "text/html"}, {"/apis", "application/json;q=0"},
	} {
		if w := get(h, c.path, c.accept); w.Code != http.StatusNotAcceptable {
			t.Errorf("%s as %q: %d, want 406", c.path, c.accept, w.Code)
		}
	}
}

func TestOtherPathsAreNotServed(t *testing.T) {
	t.Parallel()
	h := discovery.New(kind.NewRegistry(recordedKinds()...), nil)
	for _, path := range []string{"/", "/version", "/apis/nothing.example.com", "/apis/apps/v9", "/api/v2",
		"/api/v1/pods", "/apis//v1"} {
		if w := get(h, path, "application/json"); w.Code != 0 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if h.Serve(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/apis", nil)) {
		t.Error("POST /apis was answered")
	}
}
