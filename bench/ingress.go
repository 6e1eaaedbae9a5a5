package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline/examples/ingress/nginx"
)

// ingressReloads is the number of measured changes; ingressRest is the pause between two, so that no reload
// waits for the previous one.
const (
	ingressReloads = 40
	ingressRest    = 300 * time.Millisecond
)

// ingressChanges measures the time until a change of an Ingress is served.
func ingressChanges() measurement {
	return measurement{
		figures: []figure{
			{"Ingress change to nginx serving it, over TLS, p50", milliseconds, 150},
			{"the same with nginx alone: its configuration written to nginx serving it, p50", milliseconds, 50},
		},
		run: withServer(measureIngressChanges),
	}
}

// measureIngressChanges measures changes of a path served by the controller, and then those of an nginx with
// the same configuration and without a controller.
func measureIngressChanges(ctx context.Context, s *server, namespace string) ([]reading, error) {
	if _, err := exec.LookPath("nginx"); err != nil {
		return nil, fmt.Errorf("apt-get install nginx-light: %w", err)
	}
	site, err := newIngressSite(ctx, s, namespace)
	if err != nil {
		return nil, err
	}
	defer site.backend.Close()
	changes, err := site.controlled(ctx)
	if err != nil {
		return nil, err
	}
	reloads, err := site.alone(ctx)
	return []reading{{Value: changes.Seconds() * 1000}, {Value: reloads.Seconds() * 1000}}, err
}

// ingressSite is an Ingress with its backend, and the address at which it is served.
type ingressSite struct {
	server    *server
	clients   *kubernetes.Clientset
	namespace string
	backend   *httptest.Server
	folder    string
	address   string
}

func newIngressSite(ctx context.Context, s *server, namespace string) (*ingressSite, error) {
	clients, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(s.lab.dir, "nginx-")
	if err != nil {
		return nil, err
	}
	backend, at, err := ingressBackend()
	if err != nil {
		return nil, err
	}
	site := &ingressSite{server: s, clients: clients, namespace: namespace, backend: backend, folder: folder}
	if site.address, err = freeAddress(); err != nil {
		return nil, err
	}
	return site, site.declare(ctx, at)
}

// ingressBackend starts a server at an address that an EndpointSlice may contain.
func ingressBackend() (*httptest.Server, netip.AddrPort, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	for _, a := range addresses {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil || !prefix.Addr().Is4() || !prefix.Addr().IsGlobalUnicast() {
			continue
		}
		listener, err := net.Listen("tcp", netip.AddrPortFrom(prefix.Addr(), 0).String())
		if err != nil {
			return nil, netip.AddrPort{}, err
		}
		answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "served") })
		server := httptest.NewUnstartedServer(answer)
		server.Listener.Close()
		server.Listener = listener
		server.Start()
		return server, netip.MustParseAddrPort(listener.Addr().String()), nil
	}
	return nil, netip.AddrPort{},
		errors.New("this machine has no network address but loopback, which no EndpointSlice may have")
}

// freeAddress returns a loopback address with a free port. The port is not an ephemeral one, which the kernel
// could give to an outgoing connection before nginx listens on it.
func freeAddress() (string, error) {
	var last error
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
		last = err
	}
	return "", fmt.Errorf("no free port in a hundred attempts: %w", last)
}

// declare creates the Ingress, its Service and its endpoint.
func (s *ingressSite) declare(ctx context.Context, at netip.AddrPort) error {
	name, port, class, kind := "http", int32(at.Port()), nginx.DefaultClass, networkingv1.PathTypePrefix
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: name, Port: 80}},
	}}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "web", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{at.Addr().String()}}},
	}
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: networkingv1.IngressSpec{
		IngressClassName: &class,
		Rules: []networkingv1.IngressRule{{IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{Path: "/route-0", PathType: &kind,
					Backend: networkingv1.IngressBackend{
						Service: &networkingv1.IngressServiceBackend{Name: "web",
							Port: networkingv1.ServiceBackendPort{Number: 80}},
					}}},
			}}}},
	}}
	_, err := s.clients.CoreV1().Services(s.namespace).Create(ctx, service, metav1.CreateOptions{})
	if err == nil {
		_, err = s.clients.DiscoveryV1().EndpointSlices(s.namespace).Create(ctx, slice, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = s.clients.NetworkingV1().Ingresses(s.namespace).Create(ctx, ingress, metav1.CreateOptions{})
	}
	return err
}

// controlled changes the Ingress and measures the time from each request until nginx serves the change.
func (s *ingressSite) controlled(ctx context.Context) (time.Duration, error) {
	ctx, stop := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stop(nginx.Run(ctx, nginx.Options{
			Config: s.server.config, Folder: s.folder, HTTP: s.address, Log: slog.New(slog.DiscardHandler),
		}))
	}()
	defer func() { stop(nil); <-ended }()
	if err := s.awaitRoute(ctx, 0); err != nil {
		return 0, err
	}
	return s.median(ctx, 1, func(route int) error {
		patch := fmt.Appendf(nil, `[{"op":"replace","path":"/spec/rules/0/http/paths/0/path","value":"/route-%d"}]`,
			route)
		_, err := s.clients.NetworkingV1().Ingresses(s.namespace).Patch(ctx, "web", types.JSONPatchType, patch,
			metav1.PatchOptions{})
		return err
	})
}

// alone runs nginx without the controller, with the configuration that the controller wrote, and measures the
// time from each change of the file until it is served.
func (s *ingressSite) alone(ctx context.Context) (time.Duration, error) {
	file := filepath.Join(s.folder, "nginx.conf")
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	command := exec.CommandContext(ctx, "nginx", "-e", "stderr", "-p", s.folder, "-c", file)
	command.Dir = s.folder
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) } // also stops its workers
	if err := command.Start(); err != nil {
		return 0, err
	}
	defer func() { command.Process.Signal(syscall.SIGTERM); command.Wait() }()
	route := func(n int) string { return fmt.Sprintf("/route-%d", n) }
	if err := s.awaitRoute(ctx, ingressReloads); err != nil {
		return 0, err
	}
	return s.median(ctx, ingressReloads+1, func(n int) error {
		next := strings.ReplaceAll(string(text), route(ingressReloads), route(n))
		if err := os.WriteFile(file, []byte(next), 0o600); err != nil {
			return err
		}
		return command.Process.Signal(syscall.SIGHUP)
	})
}

// median changes the route repeatedly and returns the median time until the change is served.
func (s *ingressSite) median(ctx context.Context, first int, change func(route int) error) (time.Duration, error) {
	var took []time.Duration
	for route := first; route < first+ingressReloads; route++ {
		changed := make(chan error, 1)
		start := time.Now()
		go func() { changed <- change(route) }()
		if err := s.awaitRoute(ctx, route); err != nil {
			return 0, err
		}
		took = append(took, time.Since(start))
		if err := <-changed; err != nil {
			return 0, err
		}
		time.Sleep(ingressRest)
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// awaitRoute requests a route repeatedly, each time over a new connection, until it is served.
func (s *ingressSite) awaitRoute(ctx context.Context, route int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true}
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet,
			fmt.Sprintf("http://%s/route-%d", s.address, route), nil)
		if err != nil {
			return err
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			continue // nginx does not listen yet
		}
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("route %d was never served: %w", route, context.Cause(ctx))
}
