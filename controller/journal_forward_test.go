package controller_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/why"
)

// interceptJournal returns the plane's config with another handler for the path of the journal.
func (w *testPlane) interceptJournal(answer http.HandlerFunc) *rest.Config {
	config := w.plane.RESTConfig()
	next := config.Transport
	config.Transport = transport(func(q *http.Request) (*http.Response, error) {
		if q.URL.Path != why.Path {
			return next.RoundTrip(q)
		}
		recorder := httptest.NewRecorder()
		answer(recorder, q)
		return recorder.Result(), nil
	})
	return config
}

// triggered adds a controller whose only source is the returned trigger.
func triggered(m *controller.Manager, name string,
	reconcile func(ctx context.Context) time.Duration) *controller.Trigger {
	trigger := &controller.Trigger{}
	m.Add(controller.Options{
		Name: name, Sources: []controller.Source{trigger},
		Reconciler: controller.Func(func(ctx context.Context, _ controller.Request) (controller.Result, error) {
			return controller.Result{RequeueAfter: reconcile(ctx)}, nil
		}),
	})
	return trigger
}

// All runs that waited for an unreachable server are delivered later, except those that the server rejects.
func TestBufferedRunsAreForwardedExceptRejected(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		journal, runs := why.New(why.Options{}), 100
		var available atomic.Bool
		m := w.manager(w.interceptJournal(func(a http.ResponseWriter, q *http.Request) {
			if !available.Load() {
				a.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			journal.ServeHTTP(a, q)
		}), controller.ManagerOptions{Forward: why.Path})
		large := triggered(m, "wide", func(ctx context.Context) time.Duration {
			for range 16 { // sixteen such runs exceed the size limit of a delivery
				controller.Note(ctx, "%s", strings.Repeat("<", 500))
				controller.Did(ctx, "%s", strings.Repeat("<", 500))
			}
			return 0
		})
		bad := triggered(m, "bad\u202ename", func(ctx context.Context) time.Duration { return 0 })
		stop := w.start(m)
		for k := range runs {
			large.Add(controller.Request{Name: fmt.Sprint("o-", k)})
			if k%25 == 0 {
				bad.Add(controller.Request{Name: fmt.Sprint("b-", k)})
			}
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		available.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := journal.Report(why.Object{}, 1000).Runs; len(got) != runs {
			t.Errorf("got %d runs, want %d", len(got), runs)
		}
		stop()
		if n := strings.Count(w.log.String(), "the server rejected a run"); n != 1 {
			t.Errorf("got %d warnings, want 1:\n%s", n, w.log.String())
		}
	})
}

// A server may reject runs for a while, for example during an upgrade or while credentials are renewed. The
// manager sends the remaining runs when the server accepts them again. The same applies to a server that
// rejected the manager's first delivery.
func TestForwardingContinuesAfterRejection(t *testing.T) {
	t.Parallel()
	for name, codes := range map[string][]int{
		"known, then not found": {200, 404, 404}, "known, then not allowed": {200, 403, 401}, "unknown at first": {401},
	} {
		withPlane(t, func(w *testPlane) {
			journal := why.New(why.Options{})
			var times atomic.Int64
			m := w.manager(w.interceptJournal(func(a http.ResponseWriter, q *http.Request) {
				if n := int(times.Add(1)); n <= len(codes) && codes[n-1] != 200 {
					a.WriteHeader(codes[n-1])
					return
				}
				journal.ServeHTTP(a, q)
			}), controller.ManagerOptions{Forward: why.Path})
			trigger := triggered(m, "c", func(ctx context.Context) time.Duration {
				controller.Did(ctx, "one thing more")
				return 30 * time.Second
			})
			stop := w.start(m)
			trigger.Add(controller.Request{Name: "it"})
			time.Sleep(5*time.Minute + time.Second)
			synctest.Wait()
			if got := journal.Report(why.Object{}, 1000).Runs; len(got) != 11 || times.Load() > 16 {
				t.Errorf("%s: got %d runs, want 11; the server got %d requests", name, len(got), times.Load())
			}
			stop()
		})
	}
}
