package manager_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// before runs a manager and calls ahead right before its first request with this method for the resource's
// object web.
func (w *fixture) before(method, resource string, ahead func()) (stop func()) {
	w.Helper()
	var once sync.Once
	return w.runThrough(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		_, name, _ := strings.Cut(r.URL.Path, "/"+resource)
		if r.Method == method && (name == "/web" || name == "" && method == http.MethodPost) {
			once.Do(ahead)
		}
		return next.RoundTrip(r)
	})
}

// runThrough runs a manager whose requests pass through a function.
func (w *fixture) runThrough(pass func(r *http.Request, next http.RoundTripper) (*http.Response, error)) (stop func()) {
	w.Helper()
	config := w.plane.RESTConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) { return pass(r, next) })
	})
	return w.runOver(config, nil)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestIngressCreatedConcurrently(t *testing.T) {
	withFixture(t, func(w *fixture) {
		ahead := false
		defer w.before(http.MethodPost, "ingresses", func() { w.foreign("web"); ahead = true })()
		s := w.create(service("web", "ingress/http", "true"))
		waitIdle()
		if i := w.ingress("web"); !ahead || len(i.OwnerReferences) > 0 || i.Spec.Rules[0].Host != "mine.example.com" {
			w.Errorf("the foreign Ingress was changed to %s", asJSON(i))
		}
		w.warned(s, "NameTaken", "web")
	})
}

func TestOwnerRemovedDuringUpdate(t *testing.T) {
	withFixture(t, func(w *fixture) {
		ahead := false
		defer w.before(http.MethodPatch, "ingresses", func() {
			w.patchIngress("web", `{"metadata":{"ownerReferences":null}}`)
			ahead = true
		})()
		s := w.create(service("web", "ingress/http", "true"))
		waitIdle()
		w.annotate("web", "ingress/host", "new.example.com")
		waitIdle()
		if i := w.ingress("web"); !ahead || len(i.OwnerReferences) > 0 || i.Spec.Rules[0].Host != "example.com" {
			w.Errorf("the Ingress that was taken over is now %s", asJSON(i))
		}
		w.warned(s, "NameTaken", "web")
	})
}

func TestOwnerRemovedDuringDelete(t *testing.T) {
	withFixture(t, func(w *fixture) {
		ahead := false
		defer w.before(http.MethodDelete, "ingresses", func() {
			w.patchIngress("web", `{"metadata":{"ownerReferences":null}}`)
			ahead = true
		})()
		w.create(service("web", "ingress/http", "true"))
		waitIdle()
		w.deleteService("web")
		waitIdle()
		if i := w.ingress("web"); !ahead || len(i.OwnerReferences) > 0 {
			w.Errorf("the Ingress that was taken over is now %s", asJSON(i))
		}
	}, withoutCollector)
}

// If the annotation is restored before the Ingress is deleted, the Ingress remains.
func TestRestoredAnnotationPreservesIngress(t *testing.T) {
	withFixture(t, func(w *fixture) {
		ahead, stop := false, w.run()
		s := w.create(service("web", "ingress/http", "true"))
		waitIdle()
		stop()
		made := w.ingress("web")
		w.annotate("web", "ingress/http", "false")
		defer w.before(http.MethodGet, "services", func() { w.annotate("web", "ingress/http", "true"); ahead = true })()
		waitIdle()
		if now := w.routes(s, "example.com", "/", 80); !ahead || now.UID != made.UID {
			w.Error("the Ingress was deleted and recreated")
		}
	})
}

// If a service is replaced before its Ingress is created, the manager creates no Ingress for the old one:
// another manager with a current cache would delete it.
func TestReplacedServiceDuringCreate(t *testing.T) {
	withFixture(t, func(w *fixture) {
		var ahead sync.Once
		var made atomic.Int32
		defer w.runThrough(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			switch {
			case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/services/web"):
				ahead.Do(func() {
					w.deleteService("web")
					w.create(service("web", "ingress/http", "true", "ingress/host", "new.example.com"))
				})
			case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/ingresses"):
				made.Add(1)
			}
			return next.RoundTrip(r)
		})()
		w.create(service("web", "ingress/http", "true"))
		waitIdle()
		if i := w.ingress("web"); made.Load() != 1 || i.Spec.Rules[0].Host != "new.example.com" {
			w.Errorf("%d Ingresses were created, the last for %s", made.Load(), i.Spec.Rules[0].Host)
		}
	})
}

// A terminating namespace deletes service and Ingress. The manager neither recreates the Ingress nor reports
// an error.
func TestNamespaceEndsWhileAnIngressIsMade(t *testing.T) {
	withFixture(t, func(w *fixture) {
		namespaces := clientOf[*corev1.Namespace](w)
		create := func(name string) {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			ns.Spec.Finalizers = []corev1.FinalizerName{"example.com/hold"}
			if _, err := namespaces.Create(w.Context(), ns, metav1.CreateOptions{}); err != nil {
				w.Fatal(err)
			}
		}
		create("shop")
		stop := w.before(http.MethodPost, "ingresses", func() {
			if err := namespaces.Delete(w.Context(), "", "shop", metav1.DeleteOptions{}); err != nil {
				w.Error(err)
			}
		})
		s := service("web", "ingress/http", "true")
		s.Namespace = "shop"
		if _, err := w.services.Create(w.Context(), s, metav1.CreateOptions{}); err != nil {
			w.Fatal(err)
		}
		waitIdle()
		stop()
		if ns, err := namespaces.Get(w.Context(), "", "shop"); err != nil || ns.DeletionTimestamp == nil {
			w.Errorf("namespace shop is %+v, %v: the race did not happen", ns, err)
		}
		if w.log.Len() > 0 {
			w.Errorf("the log says: %s", w.log.String())
		}
	})
}
