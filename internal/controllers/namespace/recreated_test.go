package namespace_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// transport adapts a function to http.RoundTripper.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(q *http.Request) (*http.Response, error) { return t(q) }

// answer returns a response to a request.
func answer(q *http.Request, body io.Reader) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Request: q, Body: io.NopCloser(body),
		Header: http.Header{"Content-Type": {"application/json"}},
	}
}

// silence is a response body without data that ends with its request.
type silence struct{ q *http.Request }

func (s silence) Read([]byte) (int, error) {
	<-s.q.Context().Done()
	return 0, s.q.Context().Err()
}

// staleNamespaces makes caches of namespaces show one that has since been deleted.
func staleNamespaces(next http.RoundTripper) http.RoundTripper {
	const before = `{"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{
		"metadata":{"name":"doomed","uid":"before","resourceVersion":"1","deletionTimestamp":"2000-01-01T00:00:00Z"},
		"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Terminating"}}]}`
	return transport(func(q *http.Request) (*http.Response, error) {
		switch {
		case q.URL.Path != "/api/v1/namespaces":
			return next.RoundTrip(q)
		case q.URL.Query().Has("watch"):
			return answer(q, silence{q}), nil
		}
		return answer(q, strings.NewReader(before)), nil
	})
}

// A stale cache shows the predecessor of a recreated namespace as terminating. Even if the new namespace is
// then deleted too, nothing may be deleted because of the old one.
func TestRecreatedNamespacesKeepTheirContent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ pod, ends bool }{"ConfigMap": {}, "ConfigMap and pod": {pod: true},
		"deleted again": {ends: true}} {
		t.Run(name, func(t *testing.T) {
			runFixtureWith(t, fixtureOptions{staleNamespaces, func(w *fixture) {
				create(w, configmaps, &corev1.ConfigMap{ObjectMeta: meta("kept")})
				if test.pod {
					create(w, pods, boundPod("kept", ""))
				}
				if test.ends {
					w.doom()
				}
			}}, func(w *fixture) {
				synctest.Wait()
				w.expectThere("kept", test.pod)
			})
		})
	}
}

// expectThere fails the test unless a ConfigMap, and optionally a pod, exists and is not being deleted.
func (w *fixture) expectThere(name string, pod bool) {
	w.t.Helper()
	if got := get[*corev1.ConfigMap](w, configmaps, name); got == nil || got.DeletionTimestamp != nil {
		w.t.Errorf("ConfigMap %s of the recreated namespace: got it deleted, want it unchanged", name)
	}
	if !pod {
		return
	}
	if got := get[*corev1.Pod](w, pods, name); got == nil || got.DeletionTimestamp != nil {
		w.t.Errorf("pod %s of the recreated namespace: got it deleted, want it unchanged", name)
	}
}

// recreate deletes the namespace with its ConfigMap a, and recreates it with one of that name and another one,
// b.
func (w *fixture) recreate() {
	w.t.Helper()
	all := w.configMaps()
	if err := all.Delete(w.t.Context(), "doomed", "a", metav1.DeleteOptions{}); err != nil {
		w.t.Error(err)
	}
	ns, err := w.namespaces.Get(w.t.Context(), "", "doomed")
	if err != nil {
		w.t.Error(err)
		return
	}
	ns.Spec.Finalizers = nil
	if _, err := w.namespaces.UpdateSubresource(w.t.Context(), "finalize", ns, metav1.UpdateOptions{}); err != nil {
		w.t.Error(err)
	}
	next := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "doomed"}}
	if _, err := w.namespaces.Create(w.t.Context(), next, metav1.CreateOptions{}); err != nil {
		w.t.Error(err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := all.Create(w.t.Context(), &corev1.ConfigMap{ObjectMeta: meta(name)},
			metav1.CreateOptions{}); err != nil {
			w.t.Error(err)
		}
	}
}

// onlyOneByOne hides from discovery that the server supports deletecollection.
func onlyOneByOne(next http.RoundTripper, q *http.Request) (*http.Response, error) {
	r, err := next.RoundTrip(q)
	if err != nil || q.URL.Path != "/api" {
		return r, err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	return answer(q, bytes.NewReader(bytes.ReplaceAll(body, []byte(`"deletecollection"`), []byte(`"none"`)))), err
}

// Between the last check and the delete request, a namespace may be deleted and recreated with an object of
// the same name.
func TestOnlyListedObjectsAreDeleted(t *testing.T) {
	t.Parallel()
	for path, through := range map[string]func(http.RoundTripper, *http.Request) (*http.Response, error){
		"/api/v1/namespaces/doomed/configmaps":   http.RoundTripper.RoundTrip,
		"/api/v1/namespaces/doomed/configmaps/a": onlyOneByOne,
	} {
		t.Run(path, func(t *testing.T) {
			var w *fixture
			deletes := 0
			runFixtureWith(t, fixtureOptions{
				through: func(next http.RoundTripper) http.RoundTripper {
					return transport(func(q *http.Request) (*http.Response, error) {
						if q.Method == http.MethodDelete && q.URL.Path == path {
							if deletes++; deletes == 1 {
								w.recreate()
							}
						}
						return through(next, q)
					})
				},
				before: func(is *fixture) {
					w = is
					create(w, configmaps, &corev1.ConfigMap{ObjectMeta: meta("a")})
				},
			}, func(w *fixture) {
				w.doom()
				synctest.Wait()
				if deletes == 0 {
					w.t.Fatal("got no delete request, want at least one")
				}
				w.expectThere("a", false)
				w.expectThere("b", false)
			})
		})
	}
}
