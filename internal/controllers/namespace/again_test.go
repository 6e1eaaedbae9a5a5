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

// transport is a function as what requests go through.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(q *http.Request) (*http.Response, error) { return t(q) }

// answer is an answer to a request, with that body.
func answer(q *http.Request, body io.Reader) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Request: q, Body: io.NopCloser(body),
		Header: http.Header{"Content-Type": {"application/json"}},
	}
}

// silence is a body that says nothing until its request ends.
type silence struct{ q *http.Request }

func (s silence) Read([]byte) (int, error) {
	<-s.q.Context().Done()
	return 0, s.q.Context().Err()
}

// late has caches of namespaces show one that has gone since.
func late(next http.RoundTripper) http.RoundTripper {
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

// TestANamespaceThatIsMadeAgainKeepsWhatItHas: a cache that is late shows the one that was deleted before. Even where the next
// one ends too, what was found before it did says nothing about it.
func TestANamespaceThatIsMadeAgainKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ pod, ends bool }{"things": {}, "a pod": {pod: true}, "one that ends": {ends: true}} {
		t.Run(name, func(t *testing.T) {
			inWorldOn(t, terms{late, func(w *world) {
				create(w, configmaps, &corev1.ConfigMap{ObjectMeta: meta("kept")})
				if test.pod {
					create(w, pods, boundPod("kept", ""))
				}
				if test.ends {
					w.doom()
				}
			}}, func(w *world) {
				synctest.Wait()
				w.expectThere("kept", test.pod)
			})
		})
	}
}

// expectThere looks for a ConfigMap, and a pod.
func (w *world) expectThere(name string, pod bool) {
	w.t.Helper()
	if got := get[*corev1.ConfigMap](w, configmaps, name); got == nil || got.DeletionTimestamp != nil {
		w.t.Errorf("the ConfigMap %s of the namespace that was made again has been deleted", name)
	}
	if !pod {
		return
	}
	if got := get[*corev1.Pod](w, pods, name); got == nil || got.DeletionTimestamp != nil {
		w.t.Errorf("the pod %s of the namespace that was made again has been deleted", name)
	}
}

// again has the namespace go with its ConfigMap a, and be made again with one of that name and another one, b.
func (w *world) again() {
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
		if _, err := all.Create(w.t.Context(), &corev1.ConfigMap{ObjectMeta: meta(name)}, metav1.CreateOptions{}); err != nil {
			w.t.Error(err)
		}
	}
}

// onlyOneByOne has the server say that it deletes no collections.
func onlyOneByOne(next http.RoundTripper, q *http.Request) (*http.Response, error) {
	r, err := next.RoundTrip(q)
	if err != nil || q.URL.Path != "/api" {
		return r, err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	return answer(q, bytes.NewReader(bytes.ReplaceAll(body, []byte(`"deletecollection"`), []byte(`"none"`)))), err
}

// TestNothingIsDeletedButWhatWasListed: between the last look and the request a namespace may go and be made again, and have
// an object of the same name.
func TestNothingIsDeletedButWhatWasListed(t *testing.T) {
	t.Parallel()
	for path, through := range map[string]func(http.RoundTripper, *http.Request) (*http.Response, error){
		"/api/v1/namespaces/doomed/configmaps":   http.RoundTripper.RoundTrip,
		"/api/v1/namespaces/doomed/configmaps/a": onlyOneByOne,
	} {
		t.Run(path, func(t *testing.T) {
			var w *world
			asked := 0
			inWorldOn(t, terms{
				through: func(next http.RoundTripper) http.RoundTripper {
					return transport(func(q *http.Request) (*http.Response, error) {
						if q.Method == http.MethodDelete && q.URL.Path == path {
							if asked++; asked == 1 {
								w.again()
							}
						}
						return through(next, q)
					})
				},
				before: func(is *world) {
					w = is
					create(w, configmaps, &corev1.ConfigMap{ObjectMeta: meta("a")})
				},
			}, func(w *world) {
				w.doom()
				synctest.Wait()
				if asked == 0 {
					w.t.Fatal("nothing was deleted")
				}
				w.expectThere("a", false)
				w.expectThere("b", false)
			})
		})
	}
}
