package nginx

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/bowline-dev/bowline/client"
)

func TestRequestsReachBackends(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if got := l.get("example.com", "/"); got != "404" {
		t.Errorf("without an Ingress nginx answers %s", got)
	}
	l.create(service("web"), endpoints("web", backendServer(t, "web")),
		newIngress("web").prefix("example.com", "/", "web"))
	l.serves("example.com", "/any/path", "web")
	if got := l.get("other.example.com", "/"); got != "404" {
		t.Errorf("a request for another host is answered with %s", got)
	}
	l.create(service("api"), newIngress("api").prefix("example.com", "/api", "api"))
	l.serves("example.com", "/api/x", "503")
	l.create(endpoints("api", backendServer(t, "api")))
	l.serves("example.com", "/api/x", "api")
	update(l, "api-slice", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = pointer(false) })
	l.serves("example.com", "/api/x", "503")
	another := backendServer(t, "another api")
	update(l, "api-slice", func(s *discoveryv1.EndpointSlice) {
		s.Endpoints[0].Conditions.Ready, s.Ports[0].Port = nil, pointer(int32(another.Port()))
	})
	l.serves("example.com", "/api/x", "another api")
	remove[*networkingv1.Ingress](l, "api")
	l.serves("example.com", "/api/x", "web")
}

// hostile is a path that would inject directives if it were not quoted.
const hostile = `/x" { return 200 pwned; } #;$host\` + "\n}'"

// longHost has the maximum length of a host.
var longHost = strings.Repeat(strings.Repeat("a", 60)+".", 4) + "example"

// routed returns Ingresses with overlapping hosts and paths, and with backends named root, foo, bar and so
// on.
func routed() []client.Object {
	return []client.Object{
		newIngress("a").prefix("h.com", "/", "root").prefix("h.com", "/foo", "foo").prefix("h.com", "/foo/bar/", "bar").
			exact("h.com", "/foo/bar/exact", "exact").prefix("h.com", "/foo/bar/exact/deep", "deep").Ingress,
		newIngress("b").prefix("*.h.com", "/", "wild").exact("one.h.com", "/one", "exact").otherwise("default").Ingress,
		newIngress("c").prefix("", "/any", "any").Ingress,
		newIngress("d").path("d.com", networkingv1.PathTypeImplementationSpecific, "/s/", "specific").Ingress,
		newIngress("e").exact("e.com", "/a b", "odd").exact("e.com", "/c%20d", "odd").exact("e.com", "/ü", "odd").
			exact("e.com", hostile, "odd").exact("e.com", "/t/", "tail").exact("e.com", "/v$host", "odd").Ingress,
		newIngress("t").exact("t.com", "/t/", "tail").prefix("t.com", "/", "root").Ingress,
		newIngress("f").prefix(longHost, "/", "root").Ingress,
	}
}

// routes lists the backend, or the status code, that answers each request.
var routes = []struct{ host, path, want string }{
	{"h.com", "/", "root"},
	{"H.COM:8080", "/", "root"},
	{"h.com", "/fo", "root"},
	{"h.com", "/foo", "foo"},
	{"h.com", "/foo/", "foo"},
	{"h.com", "/foo?bar=/foo/bar", "foo"},
	{"h.com", "/foobar", "root"},
	{"h.com", "/foo/x", "foo"},
	{"h.com", "/FOO", "root"},
	{"h.com", "/foo/bar", "bar"},
	{"h.com", "/foo/bar/x", "bar"},
	{"h.com", "/foo/bar/exact", "exact"},
	{"h.com", "/foo/bar/exact/", "bar"},
	{"h.com", "/foo/bar/exact/deep/x", "deep"},
	{"h.com", "/foo/x/../bar", "bar"},
	{"h.com", "/foo%2Fbar", "bar"},
	{"x.h.com", "/", "wild"},
	{"x.y.h.com", "/any", "any"}, // a wildcard matches one label
	{"x.y.h.com", "/", "404"},
	{"one.h.com", "/one", "exact"},
	{"one.h.com", "/two", "default"}, // the host has its own rules, not those of the wildcard
	{"unknown.com", "/any/x", "any"},
	{"unknown.com", "/", "404"},
	{"d.com", "/s", "specific"},
	{"d.com", "/s/x", "specific"},
	{"d.com", "/any", "404"}, // the host is matched before the path
	{"e.com", "/a%20b", "odd"},
	{"e.com", "/c%20d", "odd"},
	{"e.com", "/c%2520d", "404"},
	{"e.com", "/%C3%BC", "odd"},
	{"e.com", (&url.URL{Path: hostile}).EscapedPath(), "odd"},
	{"e.com", "/x", "404"},
	{"e.com", "/v$host", "odd"},
	{"e.com", "/t/", "tail"},
	{"e.com", "/t", "404"},
	{"t.com", "/t/", "tail"},
	{"t.com", "/t", "root"}, // without a redirect
	{longHost, "/", "root"},
}

// A single nginx serves all these routes at the same time.
func TestRouteMatching(t *testing.T) {
	t.Parallel()
	needNginx(t)
	var objects []client.Object
	for _, name := range []string{"root", "foo", "bar", "exact", "deep", "wild", "default", "any", "specific", "odd",
		"tail"} {
		objects = append(objects, service(name), endpoints(name, backendServer(t, name)))
	}
	l := newLab(t, append(objects, routed()...)...)
	for _, test := range routes {
		if got := l.get(test.host, test.path); got != test.want {
			t.Errorf("%s%s is answered by %q, want %q", test.host, test.path, got, test.want)
		}
	}
}

// A backend receives the client's request unchanged, with the client's address in a header.
func TestRequestIsForwardedUnchanged(t *testing.T) {
	t.Parallel()
	needNginx(t)
	echo := backendServer(t, "", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s for %s by %s as %s, %d bytes", r.Method, r.Host, r.RequestURI,
			r.Header.Get("X-Forwarded-For"),
			r.Header.Get("X-Forwarded-Proto"), r.Header.Get("X-Forwarded-Host"), len(body))
	}))
	l := newLab(t, service("web"), endpoints("web", echo), newIngress("web").prefix("", "/", "web").Ingress)
	body := strings.NewReader(strings.Repeat("x", 3<<20))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.http+"/a%2Fb//c?d=%20", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "h.com:8080"
	request.Header.Set("X-Forwarded-For", "6.6.6.6")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	want := "POST h.com:8080 /a%2Fb//c?d=%20 for 127.0.0.1 by http as h.com:8080, 3145728 bytes"
	if string(got) != want || err != nil {
		t.Errorf("the backend saw %q, %v; want %q", got, err, want)
	}
}

func TestProtocolUpgrade(t *testing.T) {
	t.Parallel()
	needNginx(t)
	echo := backendServer(t, "", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, stream, err := w.(http.Hijacker).Hijack()
		if err != nil || r.Header.Get("Upgrade") != "echo" {
			t.Errorf("asked to upgrade to %q: %v", r.Header.Get("Upgrade"), err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
		line, _ := stream.ReadString('\n')
		io.WriteString(conn, "you said "+line)
	}))
	l := newLab(t, service("web"), endpoints("web", echo), newIngress("web").prefix("", "/", "web").Ingress)
	conn, err := net.Dial("tcp", l.http)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: h.com\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
	answers := bufio.NewReader(conn)
	response, err := http.ReadResponse(answers, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", response, err)
	}
	io.WriteString(conn, "hello\n")
	if got, err := answers.ReadString('\n'); got != "you said hello\n" {
		t.Errorf("after the upgrade: got %q, %v", got, err)
	}
}

// Endpoints of both families are served. If the machine has no IPv6, requests to IPv6 endpoints are answered
// with 502.
func TestEndpointsOfBothFamiliesAreServed(t *testing.T) {
	t.Parallel()
	needNginx(t)
	four, six := service("four"), service("six")
	six.Spec.Ports[0].TargetPort.StrVal = "web"
	at, answer := netip.AddrPortFrom(loopback6, 1), "502"
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil {
		l.Close()
		answer = "six"
		at = listenAt(t, loopback6, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, answer)
		}))
	}
	l := newLab(t, four, six, endpoints("four", backendServer(t, "four")), endpoints("six", at),
		newIngress("a").prefix("", "/four", "four").prefix("", "/six", "six").Ingress)
	for path, want := range map[string]string{"/four": "four", "/six": answer} {
		if got := l.get("h.com", path); got != want {
			t.Errorf("%s is answered by %q, want %q", path, got, want)
		}
	}
}

// If an endpoint does not answer, nginx sends the request to another one.
func TestUnavailableEndpointIsSkipped(t *testing.T) {
	t.Parallel()
	needNginx(t)
	slice, dead := endpoints("web", backendServer(t, "alive")), endpoints("web", backendAddressThatIsClosed(t))
	dead.Name = "dead"
	l := newLab(t, service("web"), slice, dead, newIngress("web").prefix("", "/", "web").Ingress)
	for range 10 {
		if got := l.get("h.com", "/"); got != "alive" {
			t.Errorf("got the response %q", got)
		}
	}
}

func TestStatusAndEvents(t *testing.T) {
	t.Parallel()
	l := newLab(t, service("web"), endpoints("web", backendServer(t, "web")))
	l.create(newIngress("first").prefix("h.com", "/", "web"))
	first := l.status("first", "")
	at := first.Status.LoadBalancer.Ingress[0]
	if at.IP+":"+fmt.Sprint(at.Ports[0].Port) != l.http || at.Ports[0].Protocol != corev1.ProtocolTCP {
		t.Errorf("the status has %+v, want %s", at, l.http)
	}
	l.event("first", reasonServing, "nginx serves it at "+l.http)
	l.create(newIngress("second").prefix("h.com", "/", "web").since(1))
	l.status("second", reasonConflict)
	l.event("second", reasonConflict, "the path / of host h.com is that of the Ingress default/first, which is older")
	l.create(newIngress("missing").prefix("i.com", "/", "nothing"))
	l.status("missing", reasonServiceNotFound)
	l.event("missing", reasonServiceNotFound, "there is no Service default/nothing")
	if got := l.get("i.com", "/"); got != "503" {
		t.Errorf("for a missing Service: got %s", got)
	}
	l.create(service("nothing"), endpoints("nothing", backendServer(t, "something")))
	l.status("missing", "")
	l.serves("i.com", "/", "something")
	remove[*networkingv1.Ingress](l, "first")
	l.status("second", "")
	for _, reason := range []string{reasonConflict, reasonServiceNotFound} {
		if n := l.count("ingress not as declared: " + reason); n != 1 {
			t.Errorf("the log reports %[2]s %[1]d times, want once", n, reason)
		}
	}
}
