package nginx

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// load is a number of clients that continuously request a path. A request is lost if it fails or is not
// answered by the backend.
type load struct {
	answered, lost, connections atomic.Int64
	first                       atomic.Value // the error of the first lost request
	stop                        context.CancelFunc
	clients                     sync.WaitGroup
}

// run adds a client with its own connections.
func (l *load) run(ctx context.Context, transport *http.Transport, url, want string) {
	l.clients.Go(func() {
		defer transport.CloseIdleConnections()
		trace := &httptrace.ClientTrace{ConnectDone: func(_, _ string, err error) { l.connections.Add(1) }}
		for ctx.Err() == nil {
			if err := ask(httptrace.WithClientTrace(context.WithoutCancel(ctx), trace), transport, url,
				want); err != nil {
				l.lost.Add(1)
				l.first.CompareAndSwap(nil, err.Error())
				continue
			}
			l.answered.Add(1)
		}
	})
}

func ask(ctx context.Context, transport *http.Transport, url, want string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Host = "h.com"
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || string(body) != want) {
		err = fmt.Errorf("%s: %q", response.Status, body)
	}
	return err
}

// end stops the clients after their last response.
func (l *load) end(t *testing.T, what string) {
	t.Helper()
	l.stop()
	l.clients.Wait()
	t.Logf("%s: %d requests answered over %d connections, %d lost", what, l.answered.Load(), l.connections.Load(),
		l.lost.Load())
	if l.lost.Load() > 0 || l.answered.Load() < 1000 {
		t.Errorf("%s: %d requests answered, %d lost, the first by %v", what, l.answered.Load(), l.lost.Load(),
			l.first.Load())
	}
}

// Three kinds of clients send requests continuously, two of each: with a new connection for each request,
// with persistent connections, and with persistent connections over TLS. A worker that is replaced in a
// reload accepts no further connections, answers pending requests, and closes idle connections. A client that
// sends a request at this moment finds the connection closed without an answer and repeats the request over
// another one, as RFC 9110, section 9.2.2, permits for idempotent requests. Go's client does so by itself.
func TestReloadsUnderLoadLoseNoRequest(t *testing.T) {
	t.Parallel()
	const reloads = 50
	a := newAuthority(t)
	l := newLab(t, service("web"), endpoints("web", backendServer(t, "web")), a.secret("web", 1, nil, "h.com"),
		newIngress("web").prefix("h.com", "/", "web").tls("web", "h.com").Ingress,
		newIngress("other").prefix("i.com", "/0", "web").Ingress)
	ctx, stop := context.WithCancel(t.Context())
	kinds := map[string]*load{"a connection for each": {stop: stop}, "connections that are kept": {stop: stop},
		"TLS": {stop: stop}}
	secure := &tls.Config{RootCAs: a.pool(), ServerName: "h.com"}
	for range 2 {
		kinds["a connection for each"].run(ctx, &http.Transport{DisableKeepAlives: true}, "http://"+l.http, "web")
		kinds["connections that are kept"].run(ctx, &http.Transport{}, "http://"+l.http, "web")
		kinds["TLS"].run(ctx, &http.Transport{TLSClientConfig: secure}, "https://"+l.https, "web")
	}
	for n := range reloads {
		update(l, "other", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = fmt.Sprint("/", n+1) })
		l.until("nginx is reloaded", func() bool { return l.reloads() > n })
		if got := l.get("i.com", fmt.Sprint("/", n)) + l.get("i.com", fmt.Sprint("/", n+1)); got != "404web" {
			t.Errorf("after %d reloads, the paths before and now are answered by %s", n+1, got)
		}
	}
	if n := l.reloads(); n != reloads {
		t.Errorf("nginx was reloaded %d times", n)
	}
	for what, load := range kinds {
		load.end(t, what)
	}
}

// A worker completes a pending request according to the configuration with which it began.
func TestPendingRequestSurvivesReloads(t *testing.T) {
	t.Parallel()
	needNginx(t)
	requested, answer, others := make(chan struct{}), make(chan struct{}), atomic.Bool{}
	slow := backendServer(t, "", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if others.Swap(true) {
			return
		}
		close(requested)
		<-answer
		fmt.Fprint(w, "at last")
	}))
	l := newLab(t, service("slow"), endpoints("slow", slow), newIngress("slow").prefix("h.com", "/", "slow").Ingress)
	got := make(chan string, 1)
	go func() { got <- l.get("h.com", "/") }()
	<-requested
	remove[*networkingv1.Ingress](l, "slow")
	l.serves("h.com", "/", "404")
	l.create(newIngress("other").prefix("h.com", "/", "nothing"))
	l.status("other", reasonServiceNotFound)
	close(answer)
	if got := <-got; got != "at last" {
		t.Errorf("the request is answered by %q", got)
	}
}

// Forty changes that do not affect nginx's configuration cause no reload; a change that does is served.
func TestIrrelevantChangesDoNotReload(t *testing.T) {
	t.Parallel()
	l := newLab(t, service("web"), endpoints("web", backendServer(t, "web")),
		newIngress("web").prefix("h.com", "/", "web").Ingress)
	l.status("web", "")
	for n := range 10 {
		label := map[string]string{"n": fmt.Sprint(n)}
		update(l, "web", func(i *networkingv1.Ingress) { i.Labels = label })
		update(l, "web", func(s *corev1.Service) { s.Labels = label })
		update(l, "web-slice", func(s *discoveryv1.EndpointSlice) { s.Annotations = label })
		i := newIngress(fmt.Sprint("of-another-class-", n)).prefix("h.com", fmt.Sprint("/", n), "web")
		i.Spec.IngressClassName = pointer("other")
		l.create(i)
	}
	l.create(newIngress("last").prefix("i.com", "/", "web"))
	l.serves("i.com", "/", "web")
	l.status("last", "") // written after the reload
	if n := l.reloads(); n != 1 {
		t.Errorf("nginx was reloaded %d times", n)
	}
}
