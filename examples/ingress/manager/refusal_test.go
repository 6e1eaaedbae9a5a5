package manager_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// foreign creates an Ingress without an owner.
func (w *fixture) foreign(name string) *networkingv1.Ingress {
	w.Helper()
	i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	i.Spec.Rules = []networkingv1.IngressRule{{Host: "mine.example.com"}}
	i, err := w.ingresses.Create(w.Context(), i, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return i
}

func (w *fixture) isUntouched(was *networkingv1.Ingress) {
	w.Helper()
	if now := w.ingress(was.Name); now.ResourceVersion != was.ResourceVersion {
		w.Errorf("Ingress %s was changed to %s", now.Name, asJSON(now))
	}
}

func TestForeignIngressIsNotTouched(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		theirs := w.foreign("web")
		s := w.create(service("web", "ingress/http", "true"))
		waitIdle()
		w.isUntouched(theirs)
		w.warned(s, "NameTaken", "Ingress web has another owner and is not changed")

		w.annotate("web", "ingress/http", "null")
		waitIdle()
		w.isUntouched(theirs)
		w.deleteService("web")
		waitIdle()
		w.isUntouched(theirs)

		s = w.create(service("web", "ingress/http", "true"))
		if err := w.ingresses.Delete(w.Context(), "default", "web", metav1.DeleteOptions{}); err != nil {
			w.Fatal(err)
		}
		waitIdle()
		w.routes(s, "example.com", "/", 80)
	})
}

// A user takes over an Ingress by removing its owner reference.
func TestIngressWithoutOwnerIsNotTouched(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		s := w.create(service("web", "ingress/http", "true"))
		waitIdle()
		w.patchIngress("web", `{"metadata":{"ownerReferences":null},"spec":{"rules":[{"host":"mine.example.com"}]}}`)
		theirs := w.ingress("web")
		waitIdle()
		w.isUntouched(theirs)
		w.warned(s, "NameTaken", "has another owner and is not changed")
		w.deleteService("web")
		waitIdle()
		w.isUntouched(theirs)
	})
}

// An Ingress may be owned by a Service of another API group, or may be another controller's for the same
// service.
func TestIngressOfOtherOwnerIsNotTouched(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		s := w.create(service("web"))
		for name, owner := range map[string]schema.GroupVersionKind{
			"web-2": {Version: "v1", Kind: "Service"},
			"web":   {Group: "serving.knative.dev", Version: "v1", Kind: "Service"},
		} {
			i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
			i.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, owner)}
			i.Spec.Rules = []networkingv1.IngressRule{{Host: "mine.example.com"}}
			i, err := w.ingresses.Create(w.Context(), i, metav1.CreateOptions{})
			if err != nil {
				w.Fatal(err)
			}
			waitIdle()
			w.isUntouched(i)
			if err := w.ingresses.Delete(w.Context(), "default", name, metav1.DeleteOptions{}); err != nil {
				w.Fatal(err)
			}
		}
	})
}

func TestInvalidAnnotationValue(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		for name, value := range map[string]string{"a": "True", "b": "1", "c": "yes", "d": " true"} {
			s := w.create(service(name, "ingress/http", value))
			waitIdle()
			w.hasNone(name)
			w.warned(s, "BadAnnotation", `ingress/http is "`+value+`": it must be "true"`)
		}
		s := w.create(service("off", "ingress/http", "false"))
		waitIdle()
		w.hasNone("off")
		if got := w.events(s.UID); len(got) > 0 {
			w.Errorf("got events %q", got)
		}
	})
}

// The server's rejection is reported in its own words. The Ingress remains until the service is corrected.
func TestServerRejectionIsReported(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		s := w.create(service("web", "ingress/http", "true", "ingress/host", "not a host"))
		waitIdle()
		w.hasNone("web")
		w.warned(s, "Refused", "spec.rules[0].host")
		w.annotate("web", "ingress/host", "good.example.com")
		waitIdle()
		w.routes(s, "good.example.com", "/", 80)
		w.annotate("web", "ingress/path", "no-slash")
		waitIdle()
		w.warned(s, "Refused", "path")
		w.routes(s, "good.example.com", "/", 80)
	})
}

// A webhook's denial is reported in its own words. It is retried, because the webhook may allow it later.
func TestWebhookDenialIsReported(t *testing.T) {
	withFixture(t, func(w *fixture) {
		var allows atomic.Bool
		defer w.runThrough(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/ingresses") || allows.Load() {
				return next.RoundTrip(r)
			}
			const denial = `{"kind":"Status","apiVersion":"v1","status":"Failure","code":400,"reason":"BadRequest",
				"message":"admission webhook \"guard.example.com\" denied the request: not on a Sunday"}`
			return &http.Response{
				StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(denial)), Request: r,
			}, nil
		})()
		s := w.create(service("web", "ingress/http", "true"))
		waitIdle()
		w.hasNone("web")
		w.warned(s, "Refused", `admission webhook "guard.example.com" denied the request: not on a Sunday`)
		allows.Store(true)
		time.Sleep(time.Hour)
		w.routes(s, "example.com", "/", 80)
	})
}

func TestServiceWithoutUsablePort(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		external := service("external", "ingress/http", "true")
		external.Spec.Type, external.Spec.ExternalName = corev1.ServiceTypeExternalName, "www.example.org"
		headless := service("headless", "ingress/http", "true")
		headless.Spec.ClusterIP, headless.Spec.Ports = corev1.ClusterIPNone, nil
		datagrams := service("datagrams", "ingress/http", "true")
		datagrams.Spec.Ports[0].Protocol = corev1.ProtocolUDP
		unknown := service("unknown", "ingress/http", "true", "ingress/port", "admin")
		for s, why := range map[*corev1.Service][2]string{
			external:  {"ExternalName", "no endpoints"},
			headless:  {"NoPort", "no TCP port"},
			datagrams: {"NoPort", "no TCP port"},
			unknown:   {"NoPort", `ingress/port is "admin"`},
		} {
			made := w.create(s)
			waitIdle()
			w.hasNone(s.Name)
			w.warned(made, why[0], why[1])
		}
		headless = service("headless-2", "ingress/http", "true")
		headless.Spec.ClusterIP = corev1.ClusterIPNone
		headless = w.create(headless)
		waitIdle()
		w.routes(headless, "example.com", "/", 80)
	})
}

// If the port of a service is gone, its Ingress remains and a warning is recorded.
func TestIngressRemainsWithoutPort(t *testing.T) {
	withFixture(t, func(w *fixture) {
		defer w.run()()
		s := w.create(service("web", "ingress/http", "true"))
		waitIdle()
		w.annotate("web", "ingress/port", "http")
		waitIdle()
		w.warned(s, "NoPort", `ingress/port is "http"`)
		w.routes(s, "example.com", "/", 80)
		w.patchService("web", `{"spec":{"ports":[{"name":"http","port":8080}]}}`)
		waitIdle()
		w.routes(s, "example.com", "/", 8080)
	})
}
