package main

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	loop "github.com/bowline-dev/bowline/controller"
)

// endpoints returns the endpoints of the service web as "PORTNAME ADDRESS:PORT", of all its slices.
func endpoints(t *testing.T, p *bowlinetest.Plane) []string {
	t.Helper()
	time.Sleep(10 * time.Second) // until the controllers are idle
	synctest.Wait()
	page, err := bowlinetest.Client[*discoveryv1.EndpointSlice](t, p).List(t.Context(), "default", metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=web",
	})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, s := range page.Items {
		for _, port := range s.Ports {
			found = append(found, *port.Name+" "+net.JoinHostPort(s.Endpoints[0].Addresses[0],
				strconv.Itoa(int(*port.Port))))
		}
	}
	return found
}

func TestEndpointFollowsItsService(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		services := bowlinetest.Client[*corev1.Service](t, p)
		create := func() {
			s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
			s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80},
				{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}}
			if _, err := services.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		check := func(when string, want ...string) {
			t.Helper()
			if got := endpoints(t, p); strings.Join(got, "; ") != strings.Join(want, "; ") {
				t.Errorf("%s, the endpoints are %q, want %q", when, got, want)
			}
		}
		create()
		stop := keepEndpoint(t, p.RESTConfig())
		check("at first", "http 192.0.2.1:9000")
		patch := []byte(`{"spec":{"ports":[{"name":"web","port":8080}]}}`)
		_, err := services.Patch(t.Context(), "default", "web", "", types.StrategicMergePatchType, patch,
			metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		check("with another port", "web 192.0.2.1:9000", "http 192.0.2.1:9000")
		slices := bowlinetest.Client[*discoveryv1.EndpointSlice](t, p)
		if err := slices.Delete(t.Context(), "default", "web-192-0-2-1-9000", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		check("after its deletion by somebody else", "web 192.0.2.1:9000", "http 192.0.2.1:9000")
		if err := services.Delete(t.Context(), "default", "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		check("without the service")
		create()
		check("with the service again", "http 192.0.2.1:9000")
		stop()
		check("after its end")
	})
}

// keepEndpoint registers 192.0.2.1:9000 as an endpoint of the service web until stop is called.
func keepEndpoint(t *testing.T, config *rest.Config) (stop func()) {
	t.Helper()
	m, err := loop.NewManager(config, loop.ManagerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e := newEndpoint(m.Client(), "default", "web", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 9000})
	e.keep(m)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- m.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := e.leave(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// slowNetwork delivers each PATCH after a second, even if the client has canceled it by then.
type slowNetwork struct{ next http.RoundTripper }

func (n slowNetwork) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method != http.MethodPatch {
		return n.next.RoundTrip(q)
	}
	type result struct {
		response *http.Response
		err      error
	}
	answered := make(chan result, 1)
	go func() {
		time.Sleep(time.Second)
		response, err := n.next.RoundTrip(q.WithContext(context.WithoutCancel(q.Context())))
		answered <- result{response, err}
	}()
	select {
	case r := <-answered:
		return r.response, r.err
	case <-q.Context().Done():
		return nil, q.Context().Err()
	}
}

// A backend that is stopped while its EndpointSlice is being created deletes it afterwards.
func TestEndpointIsDeletedAfterPendingCreate(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
		service.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
		if _, err := bowlinetest.Client[*corev1.Service](t, p).Create(t.Context(), service,
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		config := p.RESTConfig()
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return slowNetwork{next} })
		stop := keepEndpoint(t, config)
		time.Sleep(500 * time.Millisecond)
		stop()
		if got := endpoints(t, p); len(got) > 0 {
			t.Errorf("got endpoints %q after the end of the backend, want none", got)
		}
	})
}

// If the EndpointSlice cannot be deleted, the error names it.
func TestLeftoverEndpointIsReported(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t)
	c, err := client.New(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	e := newEndpoint(c, "shop", "web", &net.TCPAddr{IP: net.ParseIP("2001:db8::1"), Port: 9000})
	ended, end := context.WithCancel(t.Context())
	end()
	const advice = "kubectl delete endpointslice --namespace shop web-2001-db8--1-9000"
	if err := e.leave(ended); err == nil || !strings.Contains(err.Error(), advice) {
		t.Errorf("got error %v, want: %s", err, advice)
	}
}

// A backend that listens on all addresses registers an address that is reachable from elsewhere.
func TestReachableAddress(t *testing.T) {
	t.Parallel()
	own, err := ownAddress()
	if err != nil {
		t.Skip(err)
	}
	for listen, want := range map[string]net.IP{
		"": own, ":0": own, "0.0.0.0:0": own, "127.0.0.1:0": net.IPv4(127, 0, 0, 1),
	} {
		l, address, err := arguments{listen: listen}.listening()
		if err != nil {
			t.Errorf("--listen %q: %v", listen, err)
			continue
		}
		if !address.IP.Equal(want) || address.Port != l.Addr().(*net.TCPAddr).Port {
			t.Errorf("--listen %q is registered as %s, want %s and its port", listen, address, want)
		}
		l.Close()
	}
	for _, listen := range []string{"9000", "127.0.0.1:99999"} {
		if l, address, err := (arguments{listen: listen}).listening(); err == nil {
			l.Close()
			t.Errorf("--listen %q is accepted and registered as %s", listen, address)
		}
	}
}
