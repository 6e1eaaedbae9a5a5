package garbagecollector_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	discovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/trial"
)

// apiServiceDefinition defines APIServices, which planes do not have.
const apiServiceDefinition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {
	name: apiservices.apiregistration.k8s.io, annotations: {api-approved.kubernetes.io: "unapproved, test"}}, spec: {
	group: apiregistration.k8s.io, scope: Cluster, names: {plural: apiservices, singular: apiservice, kind: APIService},
	versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`

// aggregate makes a second server answer for the group example.com, as an APIService does in Kubernetes. It
// starts later, so its revisions are higher than those of the main plane.
func (w *fixture) aggregate() *bowlinetest.Plane {
	w.Helper()
	other := bowlinetest.Start(w, trial.Alone())
	to, err := rest.TransportFor(other.RESTConfig())
	if err != nil {
		w.Fatal(err)
	}
	w.way.mu.Lock()
	w.way.other = to
	w.way.mu.Unlock()
	other.Apply(w, definitionOf("v2"))
	w.plane.Apply(w, apiServiceDefinition)
	w.service("v2.example.com", "")
	return other
}

// service creates an APIService, with the automanaged label if managed is not empty.
func (w *fixture) service(name, managed string) {
	w.Helper()
	labels := "{}"
	if managed != "" {
		labels = "{kube-aggregator.kubernetes.io/automanaged: '" + managed + "'}"
	}
	w.plane.Apply(w,
		fmt.Sprintf("{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: %s, labels: %s}}",
			name, labels))
}

// route sends requests for example.com to the second server, if there is one.
func (y *proxy) route(own http.RoundTripper) http.RoundTripper {
	y.mu.Lock()
	other := y.other
	y.mu.Unlock()
	if other == nil {
		return own
	}
	return transport(func(q *http.Request) (*http.Response, error) {
		switch {
		case strings.HasPrefix(q.URL.Path, "/apis/example.com/"):
			return other.RoundTrip(q)
		case q.URL.Path == "/apis":
			return mergeDiscovery(q, own, other)
		}
		return own.RoundTrip(q)
	})
}

// mergeDiscovery answers a discovery request with the groups of own, plus the group example.com of other.
func mergeDiscovery(q *http.Request, own, other http.RoundTripper) (*http.Response, error) {
	answer, groups, err := groupsOf(q, own)
	if err != nil {
		return nil, err
	}
	_, more, err := groupsOf(q.Clone(q.Context()), other)
	if err != nil {
		return nil, err
	}
	groups.Items = slices.Concat(groups.Items, slices.DeleteFunc(more.Items, func(g discovery.APIGroupDiscovery) bool {
		return g.Name != "example.com"
	}))
	body, err := json.Marshal(groups)
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer.Header.Del("Content-Length")
	return answer, err
}

func groupsOf(q *http.Request, from http.RoundTripper) (*http.Response, *discovery.APIGroupDiscoveryList, error) {
	answer, err := from.RoundTrip(q)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	groups := &discovery.APIGroupDiscoveryList{}
	return answer, groups, json.NewDecoder(answer.Body).Decode(groups)
}

// An owner waits for a dependent on another server, which counts its own revisions, although no cache shows
// the dependent.
func TestOwnersWaitForDependentsOnAggregatedServers(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		other := w.aggregate()
		time.Sleep(time.Minute)
		owner := w.configMap("owner", nil)
		release := w.way.hold("/apis/example.com/v2/widgets")
		other.Apply(w, `{apiVersion: example.com/v2, kind: Widget, metadata: {name: child, namespace: default,
			finalizers: [example.com/hold], ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner,
				uid: `+string(owner.UID)+`, blockOwnerDeletion: true}]}}`)
		w.remove("owner", foreground)
		time.Sleep(5 * time.Minute)
		w.expect(true, "configmap/owner")
		release()
		time.Sleep(time.Minute)
		releaseWidget(w, other)
		time.Sleep(5 * time.Minute)
		w.expect(false, "configmap/owner")
	})
}

// releaseWidget removes the finalizers of the second server's widget.
func releaseWidget(w *fixture, other *bowlinetest.Plane) {
	w.Helper()
	w.client = clientOf(w, other)
	w.let("widget/child")
	w.client = clientOf(w, w.plane)
}

// Resources of the server itself are not listed if a cache is known to be current. An APIService's label
// identifies these resources.
func TestCurrentCachesSaveLists(t *testing.T) {
	t.Parallel()
	const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	for managed, want := range map[string]int{"onstart": 0, "true": 0, "false": 1, "": 1} {
		t.Run(managed, func(t *testing.T) {
			t.Parallel()
			runFixture(t, func(w *fixture) {
				w.aggregate()
				w.service("v1.coordination.k8s.io", managed)
				time.Sleep(time.Minute)
				w.configMap("owner", nil)
				release := w.way.hold("/api/v1/configmaps")
				w.remove("owner", foreground)
				w.plane.Apply(w,
					"{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: newer, namespace: default}}")
				time.Sleep(time.Second)
				before := w.way.count(leases)
				release()
				time.Sleep(time.Minute)
				w.expect(false, "configmap/owner")
				if lists := w.way.count(leases) - before; lists != want {
					t.Errorf("got %d lists of leases, want %d", lists, want)
				}
			})
		})
	}
}
