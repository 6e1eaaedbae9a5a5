package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/why"
)

func TestLogLinesHaveCauses(t *testing.T) {
	t.Parallel()
	withPlane(t, func(w *testPlane) {
		m := w.manager(w.plane.RESTConfig(), controller.ManagerOptions{})
		var trigger controller.Trigger
		failures := 1
		m.Add(controller.Options{
			Name:    "c",
			Sources: []controller.Source{&trigger},
			Reconciler: controller.Func(func(ctx context.Context, _ controller.Request) (controller.Result, error) {
				controller.Log(ctx).Info("looking")
				if failures--; failures == 0 {
					return controller.Result{}, errors.New("no luck")
				}
				return controller.Result{}, nil
			}),
		})
		stop := w.start(m)
		trigger.Add(controller.Request{Namespace: "default", Name: "it"})
		time.Sleep(time.Minute)
		stop()
		for _, want := range []string{
			`msg=looking controller=c object=default/it cause="a source outside the API requested it (trigger)"`,
			`msg="reconcile failed, will retry" controller=c object=default/it cause="a source outside the API requested it (trigger)" error="no luck"`,
			`msg=looking controller=c object=default/it cause="the previous run failed: no luck"`,
		} {
			if !strings.Contains(w.log.String(), want) {
				t.Errorf("the log lacks %s:\n%s", want, w.log.String())
			}
		}
	})
}

// start runs a manager until the returned function is called.
func (w *testPlane) start(m *controller.Manager) (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := m.Run(ctx); err != nil {
			w.Error(err)
		}
	}()
	<-m.Ready()
	return func() { cancel(); <-done }
}

// If a write of one run causes another, the second span has a link to the first, and the object as attribute.
func TestSpansHaveCausesAndLinks(t *testing.T) {
	t.Parallel()
	onStage(t, func(s *stage) {
		spans := tracetest.NewSpanRecorder()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
		options := controller.ManagerOptions{Journal: s.plane.Journal(), TracerProvider: provider}
		s.run("first", options, sets("a", "1"))
		s.run("second", options, func(ctx context.Context, obj *corev1.ConfigMap,
			maps configMapClient) (controller.Result, error) {
			if obj.Data["a"] == "" {
				return controller.Result{}, nil
			}
			time.Sleep(time.Millisecond) // the first has its answer by then
			return controller.Result{}, errors.New("no")
		})
		s.create()
		time.Sleep(time.Second)
		var writing, failed sdktrace.ReadOnlySpan
		for _, span := range spans.Ended() {
			switch {
			case span.Name() == "reconcile first" && writing == nil:
				writing = span
			case span.Name() == "reconcile second" && span.Status().Description == "no" && failed == nil:
				failed = span
			}
		}
		if writing == nil || failed == nil {
			t.Fatalf("got spans %v", spans.Ended())
		}
		if links := failed.Links(); len(links) != 1 || links[0].SpanContext.SpanID() != writing.SpanContext().SpanID() {
			t.Errorf("got links %+v", links)
		}
		causes := func(span sdktrace.ReadOnlySpan) []string {
			k := slices.IndexFunc(span.Attributes(), func(a attribute.KeyValue) bool {
				return a.Key == "bowline.causes"
			})
			return span.Attributes()[k].Value.AsStringSlice()
		}
		if got := causes(failed); len(got) != 1 || !strings.HasPrefix(got[0], "configmaps/default/it was updated") {
			t.Errorf("got causes %q", got)
		}
	})
}

// Forwarding stops if a server does not have the path; the journal still records the runs.
func TestForwardingEndsAfterNotFound(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]int64{http.StatusNotFound: 1, http.StatusForbidden: 1,
		http.StatusServiceUnavailable: 3} {
		withPlane(t, func(w *testPlane) {
			var requests atomic.Int64
			config := w.plane.RESTConfig()
			next := config.Transport
			config.Transport = transport(func(q *http.Request) (*http.Response, error) {
				if q.URL.Path != why.Path {
					return next.RoundTrip(q)
				}
				requests.Add(1)
				answer := httptest.NewRecorder()
				answer.WriteHeader(code)
				return answer.Result(), nil
			})
			m := w.manager(config, controller.ManagerOptions{Forward: why.Path})
			var trigger controller.Trigger
			m.Add(controller.Options{
				Name: "c", Sources: []controller.Source{&trigger},
				Reconciler: controller.Func(func(context.Context, controller.Request) (controller.Result, error) {
					return controller.Result{RequeueAfter: time.Second}, nil
				}),
			})
			stop := w.start(m)
			trigger.Add(controller.Request{Name: "it"})
			time.Sleep(4 * time.Second)
			synctest.Wait()
			if got := requests.Load(); got != want {
				t.Errorf("server that returns %d: got %d requests, want %d", code, got, want)
			}
			stop()
			if runs := m.Journal().Report(why.Object{}, 0).Runs; len(runs) != 1 || runs[0].Times < 4 {
				t.Errorf("got runs %+v in the journal", runs)
			}
		})
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(q *http.Request) (*http.Response, error) { return t(q) }

// Note, Did, Causes and Log work outside of a run, so that a test can call a reconciler directly.
func TestNoteOutsideRunIsIgnored(t *testing.T) {
	t.Parallel()
	controller.Note(t.Context(), "nobody %s", "listens")
	controller.Did(t.Context(), "nothing")
	if causes := controller.Causes(t.Context()); causes != nil {
		t.Errorf("got causes %v, want none", causes)
	}
	if controller.Log(t.Context()) != slog.Default() {
		t.Error("got another log, want slog.Default")
	}
}

// Most reconciliations do nothing, so recording them must not cost much.
func BenchmarkReconcileNoOp(b *testing.B) {
	const objects = 10_000
	var trigger controller.Trigger
	done := make(chan struct{}, objects)
	c := controller.New(controller.Options{
		Name: "c", Sources: []controller.Source{&trigger}, Log: slog.New(slog.DiscardHandler),
		Reconciler: controller.Func(func(context.Context, controller.Request) (controller.Result, error) {
			done <- struct{}{}
			return controller.Result{}, nil
		}),
	})
	go c.Run(b.Context())
	var requests []controller.Request
	for k := range objects {
		requests = append(requests, controller.Request{Namespace: "default", Name: fmt.Sprint("object-", k)})
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range requests {
			trigger.Add(r)
		}
		for range requests {
			<-done
		}
	}
}
