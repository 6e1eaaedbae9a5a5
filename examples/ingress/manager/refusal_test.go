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

// foreign is an Ingress that somebody has made.
func (w *world) foreign(name string) *networkingv1.Ingress {
	w.Helper()
	i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	i.Spec.Rules = []networkingv1.IngressRule{{Host: "mine.example.com"}}
	i, err := w.ingresses.Create(w.Context(), i, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return i
}

func (w *world) isUntouched(was *networkingv1.Ingress) {
	w.Helper()
	if now := w.ingress(was.Name); now.ResourceVersion != was.ResourceVersion {
		w.Errorf("Ingress %s was touched: %s", now.Name, asJSON(now))
	}
}

func TestSomebodyElsesIngressIsLeftAlone(t *testing.T) {
	inWorld(t, func(w *world) {
		defer w.run()()
		theirs := w.foreign("web")
		s := w.create(service("web", "ingress/http", "true"))
		settle()
		w.isUntouched(theirs)
		w.warned(s, "NameTaken", "Ingress web is not this service's")

		w.annotate("web", "ingress/http", "null")
		settle()
		w.isUntouched(theirs)
		w.deleteService("web")
		settle()
		w.isUntouched(theirs)

		s = w.create(service("web", "ingress/http", "true"))
		if err := w.ingresses.Delete(w.Context(), "default", "web", metav1.DeleteOptions{}); err != nil {
			w.Fatal(err)
		}
		settle()
		w.routes(s, "example.com", "/", 80)
	})
}

// Whoever takes the owner out of an Ingress takes it over.
func TestIngressWithoutItsOwnerIsTheUsers(t *testing.T) {
	inWorld(t, func(w *world) {
		defer w.run()()
		s := w.create(service("web", "ingress/http", "true"))
		settle()
		w.patchIngress("web", `{"metadata":{"ownerReferences":null},"spec":{"rules":[{"host":"mine.example.com"}]}}`)
		theirs := w.ingress("web")
		settle()
		w.isUntouched(theirs)
		w.warned(s, "NameTaken", "left alone")
		w.deleteService("web")
		settle()
		w.isUntouched(theirs)
	})
}

// Another controller's Ingress may belong to a service too, or to something else of the service's name.
func TestIngressOfAnotherOwnerIsLeftAlone(t *testing.T) {
	inWorld(t, func(w *world) {
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
			settle()
			w.isUntouched(i)
			if err := w.ingresses.Delete(w.Context(), "default", name, metav1.DeleteOptions{}); err != nil {
				w.Fatal(err)
			}
		}
	})
}

func TestValueThatIsNotTrueIsNamed(t *testing.T) {
	inWorld(t, func(w *world) {
		defer w.run()()
		for name, value := range map[string]string{"a": "True", "b": "1", "c": "yes", "d": " true"} {
			s := w.create(service(name, "ingress/http", value))
			settle()
			w.hasNone(name)
			w.warned(s, "BadAnnotation", `ingress/http is "`+value+`": it must be "true"`)
		}
		s := w.create(service("off", "ingress/http", "false"))
		settle()
		w.hasNone("off")
		if got := w.events(s.UID); len(got) > 0 {
			w.Errorf("events are %q", got)
		}
	})
}

// What the server refuses is said, with its words, and is well again when the service is. The Ingress stays meanwhile.
func TestWhatTheServerRefusesIsSaid(t *testing.T) {
	inWorld(t, func(w *world) {
		defer w.run()()
		s := w.create(service("web", "ingress/http", "true", "ingress/host", "not a host"))
		settle()
		w.hasNone("web")
		w.warned(s, "Refused", "spec.rules[0].host")
		w.annotate("web", "ingress/host", "good.example.com")
		settle()
		w.routes(s, "good.example.com", "/", 80)
		w.annotate("web", "ingress/path", "no-slash")
		settle()
		w.warned(s, "Refused", "path")
		w.routes(s, "good.example.com", "/", 80)
	})
}

// What a webhook denies is said, with its words. It may change its mind without the service, so that is tried again.
func TestWhatAWebhookDeniesIsSaid(t *testing.T) {
	inWorld(t, func(w *world) {
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
		settle()
		w.hasNone("web")
		w.warned(s, "Refused", `admission webhook "guard.example.com" denied the request: not on a Sunday`)
		allows.Store(true)
		time.Sleep(time.Hour)
		w.routes(s, "example.com", "/", 80)
	})
}

func TestServiceWithNowhereToSendRequests(t *testing.T) {
	inWorld(t, func(w *world) {
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
			settle()
			w.hasNone(s.Name)
			w.warned(made, why[0], why[1])
		}
		headless = service("headless-2", "ingress/http", "true")
		headless.Spec.ClusterIP = corev1.ClusterIPNone
		headless = w.create(headless)
		settle()
		w.routes(headless, "example.com", "/", 80)
	})
}

// The Ingress of a service whose port has gone stays as it is, and is said to.
func TestIngressStaysWhenItsPortIsGone(t *testing.T) {
	inWorld(t, func(w *world) {
		defer w.run()()
		s := w.create(service("web", "ingress/http", "true"))
		settle()
		w.annotate("web", "ingress/port", "http")
		settle()
		w.warned(s, "NoPort", `ingress/port is "http"`)
		w.routes(s, "example.com", "/", 80)
		w.patchService("web", `{"spec":{"ports":[{"name":"http","port":8080}]}}`)
		settle()
		w.routes(s, "example.com", "/", 8080)
	})
}
