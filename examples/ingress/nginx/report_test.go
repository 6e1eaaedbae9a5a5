package nginx

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/bowlinetest"
	loop "github.com/bowline-dev/bowline/controller"
)

// controllerAt runs a controller of the class at this address, with an nginx in memory, and returns a
// function that stops it.
func controllerAt(t *testing.T, p *bowlinetest.Plane, at string, to server) (stop func()) {
	t.Helper()
	o := loop.ManagerOptions{Log: slog.New(slog.DiscardHandler)}
	m, err := newManager(p.RESTConfig(), o, DefaultClass, address{netip.MustParseAddrPort(at)}, address{}, to)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// shownAt returns the address in an Ingress's status.
func shownAt(i *networkingv1.Ingress) string {
	at := i.Status.LoadBalancer.Ingress
	if len(at) == 0 {
		return "nowhere"
	}
	return places(at)[0]
}

// Two controllers of one class overwrite each other's status at increasing intervals, and report the
// conflict.
func TestStatusContestBacksOff(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		ingresses := bowlinetest.Client[*networkingv1.Ingress](t, p)
		web := newIngress("web").prefix("h.com", "/", "web")
		if _, err := ingresses.Create(t.Context(), web.Ingress, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		changes, err := ingresses.Watch(t.Context(), "default", metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		writes := 0
		go func() {
			for _, _, err := changes.Next(); err == nil; _, _, err = changes.Next() {
				writes++
			}
		}()
		stopOne, stopOther := controllerAt(t, p, "127.0.0.1:81", &recorder{}),
			controllerAt(t, p, "127.0.0.1:82", &recorder{})
		time.Sleep(time.Hour)
		synctest.Wait()
		if writes < 60 || writes > 300 {
			t.Errorf("the status was written %d times in an hour", writes)
		}
		events, err := bowlinetest.Client[*corev1.Event](t, p).List(t.Context(), "default", metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		warnings := 0
		for _, e := range events.Items {
			if e.Reason == reasonContested {
				warnings += int(e.Count)
			}
		}
		if warnings != 2 {
			t.Errorf("got %d events, want one of each controller: %v", warnings, events.Items)
		}
		stopOther()
		time.Sleep(2 * time.Minute)
		left, err := ingresses.Get(t.Context(), "default", "web")
		if err != nil || shownAt(left) != "127.0.0.1:81" {
			t.Errorf("after one controller ended, the status has the address %s, %v", shownAt(left), err)
		}
		stopOne()
		changes.Stop()
	})
}

// When an Ingress changes to another class, its status is removed, even if it changed while the controller
// was not running. A status that another controller has written remains.
func TestStatusIsRemovedWithClass(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		ingresses := bowlinetest.Client[*networkingv1.Ingress](t, p)
		shown := func(name string) string {
			t.Helper()
			synctest.Wait()
			i, err := ingresses.Get(t.Context(), "default", name)
			if err != nil {
				t.Fatal(err)
			}
			return shownAt(i)
		}
		moved := func(name string) {
			t.Helper()
			i, err := ingresses.Get(t.Context(), "default", name)
			if err == nil {
				i.Spec.IngressClassName = pointer("other")
				_, err = ingresses.Update(t.Context(), i, metav1.UpdateOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"first", "second", "third"} {
			i := newIngress(name).prefix(name+".com", "/", "web")
			if _, err := ingresses.Create(t.Context(), i.Ingress, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		stop := controllerAt(t, p, "127.0.0.1:80", &recorder{})
		if got := shown("first") + " " + shown("second"); got != "127.0.0.1:80 127.0.0.1:80" {
			t.Errorf("the Ingresses of the class have the addresses %s", got)
		}
		moved("first")
		if got := shown("first"); got != "nowhere" {
			t.Errorf("after its class changed, the first Ingress has the address %s", got)
		}
		stop()
		moved("second")
		moved("third")
		third, err := ingresses.Get(t.Context(), "default", "third")
		if err == nil {
			third.Status.LoadBalancer.Ingress[0].IP = "192.0.2.7"
			_, err = ingresses.UpdateStatus(t.Context(), third, metav1.UpdateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		stop = controllerAt(t, p, "127.0.0.1:80", &recorder{})
		if got := shown("second") + " " + shown("third"); got != "nowhere 192.0.2.7:80" {
			t.Errorf("after their class changed while the controller was stopped, the Ingresses have the addresses %s",
				got)
		}
		stop()
	})
}
