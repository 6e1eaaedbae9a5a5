package nginx

import (
	"fmt"
	"net/http"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
)

// A connection that stays open keeps a worker of its configuration alive. The number of such workers is
// limited, however often nginx is reloaded.
func TestDrainingWorkersAreLimited(t *testing.T) {
	t.Parallel()
	needNginx(t)
	const most = 3
	end := make(chan struct{})
	endless := backendServer(t, "", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}))
	l := &lab{T: t, folder: t.TempDir(), serverOf: func(p *process) server {
		p.maxDraining = most
		return newLocal(p)
	}}
	l.begin(service("web"), endpoints("web", endless), newIngress("web").prefix("h.com", "/", "web").Ingress)
	change := func(n int) {
		update(l, "web", func(i *networkingv1.Ingress) { i.Spec.Rules[0].HTTP.Paths[0].Path = fmt.Sprint("/", n) })
	}
	connect := func(n int) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprint("http://", l.http, "/", n),
			nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = "h.com"
		response, err := new(http.Transport).RoundTrip(request)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("connection %d: %v, %v", n, response, err)
		}
		t.Cleanup(func() { response.Body.Close() })
	}
	for n := range most + 1 {
		connect(n)
		change(n + 1)
		l.until("nginx is reloaded", func() bool { return l.reloads() == n+1 })
	}
	change(most + 2)
	l.until("the reload waits", func() bool { return l.count("the reload of nginx is delayed") == 1 })
	if n := l.reloads(); n != most+1 {
		t.Errorf("with %d long connections nginx was reloaded %d times", most+1, n)
	}
	close(end)
	l.until("nginx is reloaded when they end", func() bool { return l.reloads() == most+2 })
}
