package namespace_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
)

// knotVersions returns the versions of the definition of knots, of which one is served.
func knotVersions(served string) (versions string) {
	for _, version := range []string{"v1", "v2"} {
		const one = `{"name":%q,"served":%t,"storage":%[2]t,"schema":{"openAPIV3Schema":{"type":"object"}}},`
		versions += fmt.Sprintf(one, version, version == served)
	}
	return "[" + versions[:len(versions)-1] + "]"
}

// If a discovered version is no longer served, its objects may still exist.
func TestVersionChangeDuringDeletion(t *testing.T) {
	t.Parallel()
	var w *fixture
	lists := 0
	through := func(next http.RoundTripper) http.RoundTripper {
		return transport(func(q *http.Request) (*http.Response, error) {
			if q.Method == http.MethodGet && q.URL.Path == "/apis/example.com/v1/namespaces/doomed/knots" {
				if lists++; lists == 1 {
					w.serveKnots("v2")
				}
			}
			return next.RoundTrip(q)
		})
	}
	runFixtureWith(t, fixtureOptions{through: through, before: func(is *fixture) {
		w = is
		create(w, definitions, unstructuredOf(w.t,
			`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
			"metadata":{"name":"knots.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
			"names":{"plural":"knots","kind":"Knot"},"versions":`+knotVersions("v1")+`}}`))
		create(w, knots, unstructuredOf(w.t,
			`{"apiVersion":"example.com/v1","kind":"Knot","metadata":{"name":"a","namespace":"doomed"}}`))
	}}, func(w *fixture) {
		w.doom()
		time.Sleep(time.Minute)
		if lists == 0 || w.remains() {
			w.t.Errorf("got namespace exists %t, %d lists of knots; want false and at least one", w.remains(), lists)
		}
		at := schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "knots"}
		left, err := client.Of[*metav1.PartialObjectMetadata](w.client, at).List(w.t.Context(), "",
			metav1.ListOptions{})
		if err != nil || len(left.Items) > 0 {
			w.t.Errorf("deleted namespace: got remaining objects %v (%v), want none", left.Items, err)
		}
	})
}

// serveKnots changes the served version of knots.
func (w *fixture) serveKnots(version string) {
	w.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"versions":%s}}`, knotVersions(version))
	_, err := client.Of[*unstructured.Unstructured](w.client, definitions).Patch(
		w.t.Context(), "", "knots.example.com", "", types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		w.t.Error(err)
	}
}
