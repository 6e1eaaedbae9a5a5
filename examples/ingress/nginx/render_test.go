package nginx

import (
	"fmt"
	"net/netip"
	"testing"
)

func TestRenderIsDeterministic(t *testing.T) {
	t.Parallel()
	r := routing{
		hosts: []host{{}, {
			name: "*.h.com", certificate: "certificates/a.pem",
			routes: []route{{"/", false, "default.web.80"}, {"/x", true, ""}},
		}},
		backends: []backend{{"default.web.80", []netip.AddrPort{netip.MustParseAddrPort("[fd00::1]:80")}}},
	}
	l := listening{http: "127.0.0.1:80", https: "127.0.0.1:443"}
	content := func(string) []byte { return []byte("pem") }
	first, err := l.render(r, content)
	if err != nil {
		t.Fatal(err)
	}
	again, err := l.render(r, content)
	if err != nil || again.Text != first.Text || again.Generation != first.Generation {
		t.Errorf("two renderings of one routing differ:\n%s\n%s, %v", first.Text, again.Text, err)
	}
	if string(first.Files["certificates/a.pem"]) != "pem" {
		t.Errorf("got files %q", first.Files)
	}
	r.backends[0].servers[0] = netip.MustParseAddrPort("[fd00::2]:80")
	if other, err := l.render(r, content); err != nil || other.Generation == first.Generation {
		t.Errorf("a configuration with another endpoint has the same generation (%v)", err)
	}
}

func BenchmarkPlanOfAThousandIngresses(b *testing.B) {
	s, _ := newTestApplier()
	var all []ingress
	for n := range 1000 {
		all = append(all, newIngress(fmt.Sprint("i", n)).prefix(fmt.Sprintf("h%d.com", n), "/", "s"))
	}
	for b.Loop() {
		if _, err := s.plan(objectsOf(all...)); err != nil {
			b.Fatal(err)
		}
	}
}
