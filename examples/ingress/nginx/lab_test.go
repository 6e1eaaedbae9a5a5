package nginx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
)

// patience is the time limit for an expected condition. Several tests start nginx at the same time.
const patience = 30 * time.Second

// needNginx skips a test if nginx is not installed.
func needNginx(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("nginx"); err != nil {
		t.Skip("nginx is not installed: apt-get install nginx-light")
	}
}

// Every machine has loopback addresses, but Kubernetes rejects them as endpoints. Endpoints therefore have
// documentation addresses (RFC 5737, RFC 3849), which are replaced in nginx's configuration.
var (
	loopback4, loopback6 = netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()
	public               = map[netip.Addr]netip.Addr{
		loopback4: netip.MustParseAddr("192.0.2.1"), loopback6: netip.MustParseAddr("2001:db8::1"),
	}
)

// local is a server that replaces the documentation addresses with loopback ones.
type local struct{ server }

func newLocal(p *process) server { return local{p} }

func (l local) Test(ctx context.Context, c Configuration) error {
	return l.server.Test(ctx, byLoopback(c))
}
func (l local) Serve(ctx context.Context, c Configuration) error {
	return l.server.Serve(ctx, byLoopback(c))
}

func byLoopback(c Configuration) Configuration {
	for own, shown := range public {
		c.Text = strings.ReplaceAll(c.Text, shown.String(), own.String())
	}
	return c
}

// backendServer starts an HTTP server that answers with its name, or calls another handler if one is given.
func backendServer(t testing.TB, name string, handlers ...http.Handler) netip.AddrPort {
	t.Helper()
	handlers = append(handlers, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, name) }))
	return listenAt(t, loopback4, handlers[0])
}

func listenAt(t testing.TB, address netip.Addr, handler http.Handler) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", netip.AddrPortFrom(address, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(handler)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return netip.MustParseAddrPort(l.Addr().String())
}

// lastPort is the last port that freeAddress returned. Test binaries that run at the same time start at
// different ports.
var lastPort atomic.Uint32

func init() { lastPort.Store(firstPort + rand.Uint32N(portCount)) }

// The ports below 32768 are not ephemeral ports: the kernel never gives one to an outgoing connection or to
// a listener on port 0, so what is free stays free until the test uses it.
const (
	firstPort = 10_000
	portCount = 32_768 - firstPort
)

// freeAddress returns a loopback address with a free port. It returns no port twice.
func freeAddress(t testing.TB) string {
	t.Helper()
	for {
		port := firstPort + (lastPort.Add(1)-firstPort)%portCount
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
	}
}

// lab is a plane with the controller and its nginx.
type lab struct {
	*testing.T
	*journal
	plane       *bowlinetest.Plane
	http, https string
	folder      string
	serverOf    func(*process) server
	stop        func() error // stops the controller and returns its error
}

// newLab starts a plane with objects and a controller, and returns when nginx serves.
func newLab(t *testing.T, objects ...client.Object) *lab {
	t.Helper()
	needNginx(t)
	l := &lab{T: t, folder: t.TempDir(), serverOf: newLocal}
	l.begin(objects...)
	return l
}

// begin is like newLab for an existing lab.
func (l *lab) begin(objects ...client.Object) {
	l.Helper()
	l.plane = bowlinetest.Start(l, bowlinetest.Objects(objects...))
	l.start()
}

// start starts the controller. nginx cannot listen on a port that the system chooses, so start tries free
// ports until the controller gets one.
func (l *lab) start() {
	l.Helper()
	l.startAt(func() string { return freeAddress(l) })
}

// startAt is like start, with addresses that the caller chooses.
func (l *lab) startAt(address func() string) {
	l.Helper()
	for {
		l.http, l.https = address(), address()
		err := l.run()
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "in use") {
			l.Fatal(err)
		}
	}
}

// run runs the controller at the lab's addresses, and returns when nginx serves or the controller has ended.
func (l *lab) run() error {
	journal := newJournal(l)
	l.journal = journal
	o := Options{Config: l.plane.RESTConfig(), Folder: l.folder, HTTP: l.http, HTTPS: l.https, Log: slog.New(journal)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, o, l.serverOf)
		o.Log.Info("the controller returned")
	}()
	l.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	l.until("nginx serves, or the controller returns", func() bool {
		return l.count("nginx serves pid") > 0 || l.count("the controller returned") > 0
	})
	if l.count("nginx serves pid") == 0 {
		return errors.Join(l.stop(), errors.New("nginx does not serve"))
	}
	l.Cleanup(func() {
		if err := l.stop(); err != nil {
			l.Error(err)
		}
	})
	return nil
}

// reloads returns the number of reloads.
func (l *lab) reloads() int { return l.count("nginx serves a new configuration") }

// create creates objects.
func (l *lab) create(objects ...client.Object) {
	l.Helper()
	for _, o := range objects {
		var err error
		switch o := o.(type) {
		case ingress:
			err = create(l, o.Ingress)
		case *networkingv1.Ingress:
			err = create(l, o)
		case *corev1.Service:
			err = create(l, o)
		case *corev1.Secret:
			err = create(l, o)
		case *discoveryv1.EndpointSlice:
			err = create(l, o)
		}
		if err != nil {
			l.Fatal(err)
		}
	}
}

func create[T client.Object](l *lab, o T) error {
	_, err := bowlinetest.Client[T](l, l.plane).Create(l.Context(), o, metav1.CreateOptions{})
	return err
}

// update changes an object.
func update[T client.Object](l *lab, name string, change func(T)) {
	l.Helper()
	resource := bowlinetest.Client[T](l, l.plane)
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the controller writes the status
		now, err := resource.Get(l.Context(), "default", name)
		if err != nil {
			return err
		}
		change(now)
		_, err = resource.Update(l.Context(), now, metav1.UpdateOptions{})
		return err
	}); err != nil {
		l.Fatal(err)
	}
}

func remove[T client.Object](l *lab, name string) {
	l.Helper()
	if err := bowlinetest.Client[T](l, l.plane).Delete(l.Context(), "default", name,
		metav1.DeleteOptions{}); err != nil {
		l.Fatal(err)
	}
}

// backendAddressThatIsClosed returns an address without a listener.
func backendAddressThatIsClosed(t testing.TB) netip.AddrPort {
	t.Helper()
	return netip.MustParseAddrPort(freeAddress(t))
}

// status waits until an Ingress's status has an address with this error, or without an error, and returns the
// Ingress.
func (l *lab) status(name, reason string) *networkingv1.Ingress {
	l.Helper()
	return bowlinetest.Wait(l, l.plane, "default", name, func(i *networkingv1.Ingress) bool {
		at := i.Status.LoadBalancer.Ingress
		if len(at) != 1 || len(at[0].Ports) == 0 {
			return false
		}
		last := at[0].Ports[len(at[0].Ports)-1].Error
		return reason == "" && last == nil || last != nil && *last == errorPrefix+reason
	})
}

// event waits for an Event about an Ingress.
func (l *lab) event(name, reason, message string) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), patience)
	defer cancel()
	events, err := bowlinetest.Client[*corev1.Event](l, l.plane).Watch(ctx, "default", metav1.ListOptions{})
	if err != nil {
		l.Fatal(err)
	}
	defer events.Stop()
	for {
		_, e, err := events.Next()
		if err != nil {
			l.Fatalf("no Event %s %q about %s: %v", reason, message, name, err)
		}
		if e.InvolvedObject.Name == name && e.Reason == reason && strings.Contains(e.Message, message) {
			return
		}
	}
}
