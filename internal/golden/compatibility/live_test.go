package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
)

// live is a client of a running server.
type live struct {
	t      *testing.T
	client *http.Client
	url    string
}

// TestEveryVerbIsAnswered sends a request for each verb of each resource and subresource in the discovery
// documents of a running server, on an existing object.
func TestEveryVerbIsAnswered(t *testing.T) {
	t.Parallel()
	plane, err := bowline.Start(t.Context(), bowline.Options{Controllers: []string{bowline.NoControllers}})
	if err != nil {
		t.Fatal(err)
	}
	defer plane.Close()
	config := plane.RESTConfig()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	l := &live{t, client, config.Host}
	requests := 0
	seen := map[string]bool{}
	for range 2 { // the example of a definition creates another resource
		_, lists, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerGroupsAndResources()
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range lists {
			for _, r := range list.APIResources {
				if at := list.GroupVersion + "/" + r.Name; !seen[at] {
					seen[at] = true
					requests += l.ask(list.GroupVersion, r)
				}
			}
		}
	}
	want := 0
	for _, gv := range servedGroups(kind.NewRegistry(builtin.Kinds(object.NewCache(0))...)) {
		for _, k := range gv.kinds {
			want += len(k.Kind.Info().ServedVerbs())
			for _, s := range k.Kind.Info().SubresourcesOf(gv.GroupVersion) {
				want += len(s.Verbs)
			}
		}
	}
	want += len(allVerbs) + 3 + 3 // widgets, their scale and status
	if requests != want {
		t.Errorf("sent requests for %d verbs, want %d", requests, want)
	}
}

// ask sends a request for each verb of a resource or subresource, and returns their number.
func (l *live) ask(groupVersion string, r metav1.APIResource) int {
	gv, err := schema.ParseGroupVersion(groupVersion)
	if err != nil {
		l.t.Fatal(err)
	}
	plural, sub, _ := strings.Cut(r.Name, "/")
	name := cmp.Or(names[plural], "example")
	all := collection(gv, r.Namespaced) + "/" + plural
	one := all + "/" + name
	if sub != "" {
		one += "/" + sub
	} else {
		if plural == "bindings" {
			l.create(collection(gv, true)+"/pods", gv.WithKind("Pod"), "pods", name)
		}
		if slices.Contains(r.Verbs, "create") {
			l.create(all, gv.WithKind(r.Kind), plural, name)
		}
	}
	for _, verb := range r.Verbs {
		switch verb {
		case "create":
			if sub != "" {
				l.send(http.MethodPost, one+"?dryRun=All", "", bodies[sub])
			}
		case "get":
			l.send(http.MethodGet, one, "", "")
		case "list":
			l.send(http.MethodGet, all, "", "")
		case "watch":
			l.send(http.MethodGet, all+"?watch=true&timeoutSeconds=1", "", "")
		case "update":
			current := l.send(http.MethodGet, strings.TrimSuffix(one, "/finalize"), "", "")
			l.send(http.MethodPut, one+"?dryRun=All", "", current)
		case "patch":
			l.send(http.MethodPatch, one+"?dryRun=All", "application/merge-patch+json",
				`{"metadata":{"labels":{"a":"c"}}}`)
		case "delete":
			l.send(http.MethodDelete, one+"?dryRun=All", "", "")
		case "deletecollection":
			l.send(http.MethodDelete, all+"?dryRun=All", "", "")
		default:
			l.t.Errorf("%s has the unknown verb %s", r.Name, verb)
		}
	}
	return len(r.Verbs)
}

// collection returns the path prefix of the resources of a group version.
func collection(gv schema.GroupVersion, namespaced bool) string {
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	if namespaced {
		path += "/namespaces/default"
	}
	return path
}

// create creates the example of a resource, which may exist already in another version.
func (l *live) create(path string, gvk schema.GroupVersionKind, plural, name string) {
	l.t.Helper()
	resource := schema.GroupResource{Group: gvk.Group, Resource: plural}.String()
	example, ok := examples[resource]
	if generate := keys[resource]; generate != nil {
		example, ok = generate(l.t), true
	}
	if !ok {
		l.t.Errorf("there is no example of %s: add one", resource)
		return
	}
	metadata := `"metadata":{"name":"` + name + `"},`
	switch {
	case strings.HasSuffix(plural, "reviews"):
		metadata = "" // reviews have no name
	case plural == "bindings":
		path += "?dryRun=All" // the other examples need the pod as it is
	}
	body := `{"apiVersion":"` + gvk.GroupVersion().String() + `","kind":"` + gvk.Kind + `",` + metadata + example + `}`
	l.send(http.MethodPost, path, "", body)
}

// unreachable are the messages of requests that the server would forward, if the examples were on other machines.
var unreachable = map[string]string{
	"nodes/example/proxy":                         "no preferred addresses found; known addresses: []",
	"namespaces/default/pods/example/attach":      "pod example does not have a host assigned",
	"namespaces/default/pods/example/exec":        "pod example does not have a host assigned",
	"namespaces/default/pods/example/portforward": "pod example does not have a host assigned",
	"namespaces/default/pods/example/proxy":       "address not allowed",
	"namespaces/default/services/example/proxy":   `no endpoints available for service "example"`,
}

// send sends a request, which must succeed or be one of unreachable, and returns the body of the response.
func (l *live) send(method, path, contentType, body string) string {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), method, l.url+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	if contentType == "" {
		contentType = "application/json"
	}
	r.Header.Set("Content-Type", contentType)
	resp, err := l.client.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	if strings.Contains(path, "watch=true") {
		return "" // the headers of the response suffice
	}
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	var status metav1.Status
	_ = json.Unmarshal(answer, &status) // a body that is not a Status has no reason
	reached := unreachable[strings.TrimPrefix(resp.Request.URL.Path, "/api/v1/")] == status.Message && status.Message != ""
	if resp.StatusCode >= 300 && status.Reason != metav1.StatusReasonAlreadyExists && !reached {
		l.t.Errorf("%s %s: %d %s", method, path, resp.StatusCode, bytes.TrimSpace(answer))
	}
	return string(answer)
}
