package controller_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// candidate is a running manager with leader election and a controller.
func candidate(w *testPlane, identity string, config *rest.Config) (*controller.Manager, *names, *running) {
	w.Helper()
	m := w.manager(config,
		controller.ManagerOptions{LeaderElection: &controller.LeaderElection{Name: "loop", Identity: identity}})
	reconciled := &names{}
	m.Add(controller.Options{
		Name: "maps", Reconciler: reconciled,
		Sources: []controller.Source{controller.For(informer.For[*corev1.ConfigMap](m.Informers(), configMaps))},
	})
	return m, reconciled, run(m)
}

func (w *testPlane) holder() string {
	w.Helper()
	lease, err := client.Of[*coordinationv1.Lease](w.client, leases).Get(w.Context(), "default", "loop")
	if err != nil {
		w.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// cut is a transport that can be disconnected.
type cut struct {
	next http.RoundTripper
	down atomic.Bool
}

func (c *cut) RoundTrip(q *http.Request) (*http.Response, error) {
	if c.down.Load() {
		return nil, errors.New("connection refused")
	}
	return c.next.RoundTrip(q)
}

// cuttable returns the plane's config with a transport that can be disconnected.
func (w *testPlane) cuttable() (*rest.Config, *cut) {
	c := &cut{}
	config := w.plane.RESTConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { c.next = next; return c })
	return config, c
}

func TestStandbyTakesOverWhenLeaderStops(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		w.create("default", "a")
		first, byFirst, firstRun := candidate(w, "first", w.plane.RESTConfig())
		<-first.Ready()
		second, bySecond, secondRun := candidate(w, "second", w.plane.RESTConfig())
		time.Sleep(time.Hour)
		if got, standby := byFirst.take(), bySecond.take(); !strings.Contains(got, "default/a") || standby != "" ||
			w.holder() != "first" {
			w.Errorf("the first manager reconciled %q, the second %q; the lease is held by %q", got, standby,
				w.holder())
		}
		if code, body := probe(second, "/readyz"); code != http.StatusOK ||
			!strings.Contains(body, "ready to take over: default/loop is held by first") {
			w.Errorf("got readyz %d %s of the manager that waits", code, body)
		}
		if err := firstRun.stop(); err != nil {
			w.Error(err)
		}
		if holder := w.holder(); holder != "" {
			w.Errorf("the lease is held by %q after its holder has stopped", holder)
		}
		released := time.Now()
		<-second.Ready()
		if took := time.Since(released); took > 5*time.Second {
			w.Errorf("the second manager took over after %v, want about two retry periods", took)
		}
		if got := bySecond.take(); !strings.Contains(got, "default/a") || w.holder() != "second" {
			w.Errorf("the second manager reconciled %q; the lease is held by %q", got, w.holder())
		}
		if err := secondRun.stop(); err != nil {
			w.Error(err)
		}
	})
}

func TestLostLeaseStopsManager(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		config, connection := w.cuttable()
		first, _, firstRun := candidate(w, "first", config)
		<-first.Ready()
		second, bySecond, secondRun := candidate(w, "second", w.plane.RESTConfig())
		w.create("default", "a")
		time.Sleep(time.Minute)
		start := time.Now()
		connection.down.Store(true)
		<-firstRun.ended
		stopped := time.Since(start)
		if err := firstRun.err; err == nil || !strings.Contains(err.Error(), "first lost the lease default/loop") ||
			!strings.Contains(err.Error(), "restart the process") {
			w.Errorf("got error %v of the first manager", err)
		}
		if code, body := probe(first, "/healthz"); code != http.StatusInternalServerError ||
			!strings.Contains(body, "[-]lease failed: default/loop was lost") {
			w.Errorf("got healthz %d %s of the manager that lost the lease", code, body)
		}
		<-second.Ready()
		took := time.Since(start)
		// The lease of 15 s was renewed up to 2 s before. The second manager observes that renewal, and the expiry,
		// up to 4.4 s later each, since client-go's RetryPeriod of 2 s has a jitter of 1.2 times itself.
		const earliest, latest = 13 * time.Second, (15*1000 + 2*4400) * time.Millisecond
		if got := bySecond.take(); !strings.Contains(got, "default/a") || stopped > took || took < earliest ||
			took > latest {
			w.Errorf("the first manager stopped after %v, the second took over after %v and reconciled %q", stopped,
				took, got)
		}
		if err := secondRun.stop(); err != nil {
			w.Error(err)
		}
	})
}

// stuckLeader runs a leader on a transport that can be disconnected. Its reconciliation does not return until free is
// closed.
func stuckLeader(w *testPlane, free chan struct{}) (*running, *cut) {
	w.Helper()
	config, connection := w.cuttable()
	m := w.manager(config, controller.ManagerOptions{LeaderElection: &controller.LeaderElection{
		// so that no attempt coincides with the end of RenewDeadline
		Name: "loop", Identity: "first", RetryPeriod: 3 * time.Second,
	}})
	maps := informer.For[*corev1.ConfigMap](m.Informers(), configMaps)
	m.Add(controller.Options{Name: "maps", Sources: []controller.Source{controller.For(maps)},
		Reconciler: controller.Func(
			func(context.Context, controller.Request) (controller.Result, error) {
				<-free
				return controller.Result{}, nil
			})})
	w.create("default", "a")
	r := run(m)
	<-m.Ready()
	synctest.Wait()
	return r, connection
}

// TestLostLeaseIsNotReleased has a server that answers again just after renewing has failed: a manager that released
// the lease then would let another lead while its own workers still run.
func TestLostLeaseIsNotReleased(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		free := make(chan struct{})
		r, connection := stuckLeader(w, free)
		time.Sleep(time.Second)
		connection.down.Store(true)
		// the attempts in the seconds 3 to 12 fail, and renewing ends in second 13
		time.Sleep(11500 * time.Millisecond)
		connection.down.Store(false)
		time.Sleep(time.Minute)
		if holder := w.holder(); holder != "first" {
			w.Errorf("the lease is held by %q, want the manager that lost it until it expires", holder)
		}
		close(free)
		<-r.ended
		if r.err == nil || w.holder() != "first" {
			w.Errorf("got error %v; the lease is held by %q", r.err, w.holder())
		}
	})
}

func TestStuckReconcileRetainsLease(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		free := make(chan struct{})
		r, _ := stuckLeader(w, free)
		if err := r.stop(); err == nil || !strings.Contains(err.Error(), "it is still reconciling default/a") {
			w.Errorf("got error %v", err)
		}
		if holder := w.holder(); holder != "first" {
			w.Errorf("the lease is held by %q while a worker works", holder)
		}
		second, _, secondRun := candidate(w, "second", w.plane.RESTConfig())
		start := time.Now()
		<-second.Ready()
		// 15 s from the last renewal, which was 3 s before at most
		if took := time.Since(start); took < 12*time.Second {
			w.Errorf("another manager took over after %v, before the lease expired", took)
		}
		close(free)
		if err := secondRun.stop(); err != nil {
			w.Error(err)
		}
	})
}

// TestStandbyQueuesNothing creates and deletes objects while another manager leads: requests must not accumulate
// without workers.
func TestStandbyQueuesNothing(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		first, _, firstRun := candidate(w, "first", w.plane.RESTConfig())
		<-first.Ready()
		second, bySecond, secondRun := candidate(w, "second", w.plane.RESTConfig())
		<-informer.For[*corev1.ConfigMap](second.Informers(), configMaps).Synced()
		for range 20 {
			came := w.create("default", "")
			synctest.Wait()
			if err := w.maps.Delete(w.Context(), "default", came.Name, metav1.DeleteOptions{}); err != nil {
				w.Fatal(err)
			}
			synctest.Wait()
		}
		w.create("default", "stays")
		if err := firstRun.stop(); err != nil {
			w.Error(err)
		}
		<-second.Ready()
		if got := strings.Fields(bySecond.take()); len(got) > 2 || !slices.Contains(got, "default/stays") {
			w.Errorf("the manager that took over reconciled %q, want the existing objects", got)
		}
		if err := secondRun.stop(); err != nil {
			w.Error(err)
		}
	})
}

func TestStandbyManagerStops(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		first, _, firstRun := candidate(w, "first", w.plane.RESTConfig())
		<-first.Ready()
		_, does, secondRun := candidate(w, "second", w.plane.RESTConfig())
		time.Sleep(time.Minute)
		if err := secondRun.stop(); err != nil || does.take() != "" || w.holder() != "first" {
			w.Errorf("got error %v; the lease is held by %q", err, w.holder())
		}
		if err := firstRun.stop(); err != nil {
			w.Error(err)
		}
	})
}

func TestLeaderElectionRequiresName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		election controller.LeaderElection
		want     string
	}{
		{controller.LeaderElection{}, "set LeaderElection.Name"},
		{controller.LeaderElection{Name: "x", LeaseDuration: time.Second},
			"default/x: LeaseDuration 1s must be greater than RenewDeadline 10s"},
	} {
		_, err := controller.NewManager(&rest.Config{Host: "http://unused"},
			controller.ManagerOptions{LeaderElection: &test.election})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

// probe requests a path of a manager's Health.
func probe(m *controller.Manager, path string) (int, string) {
	synctest.Wait()
	answer := httptest.NewRecorder()
	m.Health().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer.Code, answer.Body.String()
}
