package garbagecollector_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	discovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/trial"
)

// aggregate makes a second server answer for the group example.com, and creates the APIService that says so.
func (w *fixture) aggregate() *bowlinetest.Plane {
	w.Helper()
	other := w.startOther()
	w.plane.Apply(w, apiService)
	return other
}

// startOther makes a second server answer for the group example.com. It starts later, so its revisions are higher than
// those of the main plane.
func (w *fixture) startOther() *bowlinetest.Plane {
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
	return other
}

// apiService delegates the group version of the second server's widgets. The Service does not exist: the proxy
// takes the requests to the second server.
const apiService = `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v2.example.com},
	spec: {group: example.com, version: v2, groupPriorityMinimum: 1000, versionPriority: 15,
		service: {namespace: default, name: other}}}`

// manage sets the automanaged label of an APIService, or removes it if managed is empty.
func (w *fixture) manage(name, managed string) {
	w.Helper()
	value := "null"
	if managed != "" {
		value = strconv.Quote(managed)
	}
	resource, name := w.of("apiservice/" + name)
	patch := []byte(`{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":` + value + `}}}`)
	if _, err := resource.Patch(w.Context(), "", name, "", types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
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

// mergeDiscovery answers a discovery request with the groups of own, but the group example.com of other.
func mergeDiscovery(q *http.Request, own, other http.RoundTripper) (*http.Response, error) {
	answer, groups, err := groupsOf(q, own)
	if err != nil {
		return nil, err
	}
	_, more, err := groupsOf(q.Clone(q.Context()), other)
	if err != nil {
		return nil, err
	}
	isOther := func(g discovery.APIGroupDiscovery) bool { return g.Name == "example.com" }
	isOwn := func(g discovery.APIGroupDiscovery) bool { return !isOther(g) }
	groups.Items = slices.Concat(slices.DeleteFunc(groups.Items, isOther), slices.DeleteFunc(more.Items, isOwn))
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
				w.manage("v1.coordination.k8s.io", managed)
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

// While another server answers discovery requests but hangs on lists, deletions wait for it briefly, and it is asked
// rarely.
func TestHangingServersDelayDeletionsBriefly(t *testing.T) {
	t.Parallel()
	runFixture(t, func(w *fixture) {
		const inDefault = "/apis/example.com/v2/namespaces/default/widgets"
		w.way.hang("/apis/example.com/v2/widgets", inDefault)
		w.aggregate()
		time.Sleep(time.Minute)
		var owners []string
		for i := range 50 { // more than the collector has workers
			name := "owner" + strconv.Itoa(i)
			w.configMap("of-"+name, nil, w.configMap(name, nil))
			w.remove(name, foreground)
			owners = append(owners, "configmap/"+name)
		}
		w.configMap("left", nil, w.configMap("leaves", nil))
		w.remove("leaves", orphan)
		time.Sleep(20 * time.Second)
		w.expect(true, owners...)
		w.expect(true, "configmap/leaves")
		time.Sleep(2 * time.Minute)
		w.expect(false, owners...)
		w.expect(false, "configmap/leaves")
		w.expectFree("configmap/left")
		before := w.way.count(inDefault)
		for i := range 10 {
			name := "later" + strconv.Itoa(i)
			w.configMap(name, nil)
			w.remove(name, foreground)
			time.Sleep(12 * time.Second)
			w.expect(false, "configmap/"+name)
		}
		if lists := w.way.count(inDefault) - before; lists == 0 || lists > 5 {
			t.Errorf("got %d lists of the hanging server in two minutes, want 1 to 5", lists)
		}
	})
}
