package nginx

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/bowlinetest"
)

// [::] serves all addresses of both families, for several hosts, with and without TLS.
func TestUnspecifiedAddressServesAll(t *testing.T) {
	t.Parallel()
	needNginx(t)
	if probe, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skip("this machine has no IPv6")
	} else {
		probe.Close()
	}
	a := newAuthority(t)
	l := &lab{T: t, folder: t.TempDir(), serverOf: newLocal, plane: bowlinetest.Start(t, bowlinetest.Objects(
		service("web"), endpoints("web", backendServer(t, "web")), a.secret("web", 1, nil, "h.com"),
		newIngress("web").prefix("h.com", "/", "web").tls("web", "h.com").Ingress,
		newIngress("other").prefix("i.com", "/", "web").Ingress))}
	everywhere := func() string { return strings.Replace(freeAddress(t), "127.0.0.1", "[::]", 1) }
	l.startAt(everywhere)
	for _, ip := range []string{"127.0.0.1", "[::1]"} {
		address := strings.Replace(l.http, "[::]", ip, 1)
		for _, host := range []string{"h.com", "i.com"} {
			if got := fetch(t, &http.Transport{DisableKeepAlives: true}, "http://"+address, host, "/"); got != "web" {
				t.Errorf("%s at %s is answered by %q", host, address, got)
			}
		}
		l.https = strings.Replace(l.https, "[::]", ip, 1)
		if got, _ := l.getTLS(a, "h.com", "/"); got != "web" {
			t.Errorf("over HTTPS at %s: %q", l.https, got)
		}
		l.https = strings.Replace(l.https, ip, "[::]", 1)
	}
}
