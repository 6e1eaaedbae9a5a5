package nginx

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
)

// The API server accepts these Ingresses and nginx does not: nginx compares paths only up to a NUL, so two
// paths of the same length that differ after it are duplicates.
func TestRefusedIngressDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	l := newLab(t, service("web"), endpoints("web", backendServer(t, "web")),
		newIngress("good").prefix("h.com", "/", "web").Ingress,
		newIngress("a").exact("h.com", "/nul\x00one", "web").Ingress,
		newIngress("b").exact("h.com", "/nul\x00two", "web").exact("b.com", "/", "web").Ingress)
	l.status("good", "")
	l.status("a", "")
	l.status("b", reasonRefused)
	l.event("b", reasonRefused, `nginx refuses it, and it is left out: duplicate location "/nul`)
	if got := l.get("b.com", "/"); got != "404" {
		t.Errorf("the path of the Ingress that was left out answers %q", got)
	}
	l.create(newIngress("later").prefix("later.com", "/", "web"))
	l.serves("later.com", "/", "web")
	l.status("later", "")

	update(l, "b", func(i *networkingv1.Ingress) { i.Spec.Rules = i.Spec.Rules[1:] })
	l.serves("b.com", "/", "web")
	l.status("b", "")
	update(l, "b", func(i *networkingv1.Ingress) {
		i.Spec.Rules[0].HTTP.Paths[0].Path = "/nul\x00six"
		i.Spec.Rules[0].Host = "h.com"
	})
	l.status("b", reasonRefused)
	l.event("b", reasonRefused, `it is served as it was before`)
	if got := l.get("b.com", "/"); got != "web" {
		t.Errorf("the path of the last good state answers %q", got)
	}
	remove[*networkingv1.Ingress](l, "a")
	l.status("b", "")
	if got := l.get("b.com", "/"); got != "404" {
		t.Errorf("the path that is no longer declared answers %q", got)
	}
}

// nginx would accept this path, and match requests of other Ingresses.
func TestTooLongPathIsLeftOut(t *testing.T) {
	t.Parallel()
	long, longest := "/"+strings.Repeat("c", 260), "/"+strings.Repeat("d", 253)
	l := newLab(t, service("web"), endpoints("web", backendServer(t, "web")),
		service("long"), endpoints("long", backendServer(t, "long")),
		newIngress("long").prefix("h.com", long, "long").prefix("h.com", longest, "long").Ingress,
		newIngress("web").prefix("h.com", "/", "web").Ingress)
	l.status("long", reasonPathTooLong)
	for path, want := range map[string]string{
		"/cccc": "web", long: "web", "/dddd": "web", longest: "long", longest + "/x": "long", longest + "d": "web",
	} {
		if got := l.get("h.com", path); got != want {
			t.Errorf("%.10s... of %d bytes is answered by %q, want %q", path, len(path), got, want)
		}
	}
}
