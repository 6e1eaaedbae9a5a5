package nginx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
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

// patience is how long a test waits for what should happen soon. Several nginx start at a time.
const patience = 30 * time.Second

// needNginx skips a test where nginx is not installed.
func needNginx(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("nginx"); err != nil {
		t.Skip("nginx is not installed: apt-get install nginx-light")
	}
}

// Loopback addresses are all that every machine has, and Kubernetes takes none as an endpoint's. Endpoints therefore have
// addresses for documentation (RFC 5737, RFC 3849), and what nginx is given has those of loopback in their place.
var (
	loopback4, loopback6 = netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()
	public               = map[netip.Addr]netip.Addr{
		loopback4: netip.MustParseAddr("192.0.2.1"), loopback6: netip.MustParseAddr("2001:db8::1"),
	}
)

// local is a nginx that reaches endpoints by loopback.
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

// backendServer is a real HTTP server, which answers with its name, unless it is given another handler.
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

// freeAddress is a loopback address that nobody listens on now.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// lab is a plane, the controller and its nginx.
type lab struct {
	*testing.T
	*journal
	plane       *bowlinetest.Plane
	http, https string
	folder      string
	serverOf    func(*process) server
	stop        func() error // ends the controller, and is what it returned
}

// newLab starts a plane with objects and the controller on it, and returns when nginx serves.
func newLab(t *testing.T, objects ...client.Object) *lab {
	t.Helper()
	needNginx(t)
	l := &lab{T: t, folder: t.TempDir(), serverOf: newLocal}
	l.begin(objects...)
	return l
}

// begin is newLab for a lab that there is.
func (l *lab) begin(objects ...client.Object) {
	l.Helper()
	l.plane = bowlinetest.Start(l, bowlinetest.Objects(objects...))
	l.start()
}

// start starts the controller. Nobody can have nginx listen on a port that the system chooses, so one that was free a moment
// ago is taken, and another when it has gone to somebody else.
func (l *lab) start() {
	l.Helper()
	l.startAt(func() string { return freeAddress(l) })
}

// startAt is start at addresses of the caller's choice.
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

// run runs the controller at the lab's addresses, until nginx serves or it returns.
func (l *lab) run() error {
	journal := newJournal(l)
	l.journal = journal
	o := Options{Config: l.plane.Config(), Folder: l.folder, HTTP: l.http, HTTPS: l.https, Log: slog.New(journal)}
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

// reloads is how often nginx was.
func (l *lab) reloads() int { return l.count("nginx serves a new configuration") }

// create and the others change what is declared.
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
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // with the controller's status
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
	if err := bowlinetest.Client[T](l, l.plane).Delete(l.Context(), "default", name, metav1.DeleteOptions{}); err != nil {
		l.Fatal(err)
	}
}

// backendAddressThatIsClosed is one where nobody listens.
func backendAddressThatIsClosed(t testing.TB) netip.AddrPort {
	t.Helper()
	return netip.MustParseAddrPort(freeAddress(t))
}

// status waits until an Ingress's status says that it is served with this error, or with none, and returns it.
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
