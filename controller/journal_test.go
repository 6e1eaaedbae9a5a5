package controller_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/why"
)

// stage is a plane in a bubble with controllers of one ConfigMap.
type stage struct {
	*testing.T
	plane *bowline.Plane
	log   bytes.Buffer
	maps  client.Resource[*corev1.ConfigMap]
	ctx   context.Context
	stop  context.CancelFunc
	parts sync.WaitGroup
}

// testObject is the ConfigMap that the controllers reconcile.
var testObject = why.ObjectOf(configMaps.GroupResource(), "default", "it")

// onStage runs a test in a bubble of virtual time.
func onStage(t *testing.T, test func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { onPlane(t, test) })
}

// onPlane runs a part of a test on its own plane.
func onPlane(t *testing.T, test func(s *stage)) {
	t.Helper()
	s := &stage{T: t}
	plane, err := bowline.Start(t.Context(), bowline.Options{
		Controllers: []string{bowline.NoControllers},
		Logger:      slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.plane = plane
	c, err := client.New(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.maps = client.Of[*corev1.ConfigMap](c, configMaps)
	s.ctx, s.stop = context.WithCancel(t.Context())
	test(s)
	s.stop()
	s.parts.Wait()
	if err := plane.Close(); err != nil {
		t.Error(err)
	}
}

// reconcile is a reconcile function with the cache that it reads and the client that it writes with.
type reconcile func(ctx context.Context, obj *corev1.ConfigMap, maps configMapClient) (controller.Result, error)

type configMapClient = client.Resource[*corev1.ConfigMap]

// run runs a controller of ConfigMaps until the test ends. The time that each reconcile takes lets the bubble's clock
// go on.
func (s *stage) run(name string, options controller.ManagerOptions, f reconcile) {
	s.Helper()
	options.Source, options.Log = s.plane.Source(), slog.New(slog.DiscardHandler)
	m, err := controller.NewManager(s.plane.RESTConfig(), options)
	if err != nil {
		s.Fatal(err)
	}
	maps := informer.For[*corev1.ConfigMap](m.Informers(), configMaps)
	m.Add(controller.Options{
		Name:    name,
		Sources: []controller.Source{controller.For(maps)},
		Reconciler: controller.Func(func(ctx context.Context, request controller.Request) (controller.Result, error) {
			obj, ok := maps.Indexer().Get(request)
			if !ok || request.Name != testObject.Name {
				return controller.Result{}, nil
			}
			time.Sleep(100 * time.Millisecond)
			return f(ctx, obj.DeepCopy(), client.Of[*corev1.ConfigMap](m.Client(), configMaps))
		}),
	})
	s.parts.Go(func() { m.Run(s.ctx) })
	<-m.Ready()
}

func (s *stage) create() {
	s.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testObject.Namespace, Name: testObject.Name}}
	if _, err := s.maps.Create(s.Context(), obj, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// inJournal are options of a controller in the server's process.
func (s *stage) inJournal() controller.ManagerOptions {
	return controller.ManagerOptions{Journal: s.plane.Journal()}
}

// sets returns a controller that sets a key of the ConfigMap to a value.
func sets(key, value string) reconcile {
	return func(ctx context.Context, obj *corev1.ConfigMap, maps configMapClient) (controller.Result, error) {
		controller.Note(ctx, "%s is %q and should be %q", key, obj.Data[key], value)
		if obj.Data[key] == value {
			return controller.Result{}, nil
		}
		if obj.Data == nil {
			obj.Data = map[string]string{}
		}
		obj.Data[key] = value
		_, err := maps.Update(ctx, obj, metav1.UpdateOptions{})
		return controller.Result{}, err
	}
}

// hotLoop returns the only hot loop of the ConfigMap.
func (s *stage) hotLoop() why.Loop {
	s.Helper()
	report := s.plane.Journal().Report(testObject, 0)
	if len(report.Loops) != 1 {
		s.Fatalf("got %d hot loops, want 1: %+v", len(report.Loops), report.Loops)
	}
	return report.Loops[0]
}

// warnings returns the lines about hot loops in the server's log.
func (s *stage) warnings() []string {
	synctest.Wait()
	var found []string
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "hot loop") {
			found = append(found, line)
		}
	}
	return found
}

func TestConflictingControllersAreReported(t *testing.T) {
	t.Parallel()
	onStage(t, func(s *stage) {
		s.run("left", s.inJournal(), sets("way", "left"))
		s.run("right", s.inJournal(), sets("way", "right"))
		s.create()
		time.Sleep(3 * time.Minute)
		loop := s.hotLoop()
		names := slices.Sorted(slices.Values(loop.Controllers))
		if !slices.Equal(names, []string{"left", "right"}) || !slices.Equal(loop.Objects, []why.Object{testObject}) ||
			loop.Unchanged || loop.Times < 500 {
			t.Errorf("got the loop %+v", loop)
		}
		if text := loop.String(); !strings.Contains(text,
			"undo each other's changes: whenever one writes configmaps/default/it, the other") {
			t.Error(text)
		}
		if lines := s.warnings(); len(lines) < 3 || len(lines) > 4 {
			t.Errorf("got %d warnings in three minutes:\n%s", len(lines), strings.Join(lines, ""))
		}
	})
}

// One of the two controllers is in another process, which forwards its runs with a delay.
func TestConflictingControllersOfTwoProcessesAreReported(t *testing.T) {
	t.Parallel()
	onStage(t, func(s *stage) {
		s.run("left", s.inJournal(), sets("way", "left"))
		s.run("right", controller.ManagerOptions{Forward: why.Path}, sets("way", "right"))
		s.create()
		time.Sleep(time.Minute)
		if names := slices.Sorted(slices.Values(s.hotLoop().Controllers)); !slices.Equal(names,
			[]string{"left", "right"}) {
			t.Errorf("got a loop of %q", names)
		}
	})
}

func TestNoOpWritesAreReported(t *testing.T) {
	t.Parallel()
	onStage(t, func(s *stage) {
		s.create()
		s.run("eager", s.inJournal(),
			func(ctx context.Context, obj *corev1.ConfigMap, maps configMapClient) (controller.Result, error) {
				_, err := maps.Update(ctx, obj, metav1.UpdateOptions{})
				return controller.Result{RequeueAfter: 5 * time.Second}, err
			})
		time.Sleep(time.Minute)
		loop := s.hotLoop()
		if !slices.Equal(loop.Controllers, []string{"eager"}) || !loop.Unchanged || loop.Times < 5 {
			t.Errorf("got the loop %+v", loop)
		}
		if lines := s.warnings(); len(lines) != 1 ||
			!strings.Contains(lines[0], "eager writes configmaps/default/it without changing it") {
			t.Errorf("got warnings %q", lines)
		}
	})
}

func TestSelfTriggeringControllerIsReported(t *testing.T) {
	t.Parallel()
	onStage(t, func(s *stage) {
		s.run("counter", s.inJournal(),
			func(ctx context.Context, obj *corev1.ConfigMap, maps configMapClient) (controller.Result, error) {
				obj.Data = map[string]string{"seen": time.Now().String()}
				_, err := maps.Update(ctx, obj, metav1.UpdateOptions{})
				return controller.Result{}, err
			})
		s.create()
		time.Sleep(10 * time.Second)
		if text := fmt.Sprint(new(s.hotLoop())); !strings.Contains(text, "counter triggers itself") {
			t.Error(text)
		}
	})
}

// Controllers that converge after a few runs, and controllers that run often, are not hot loops.
func TestConvergingControllersAreNotReported(t *testing.T) {
	t.Parallel()
	onStage(t, func(s *stage) {
		after := func(key, value, before string) reconcile {
			return func(ctx context.Context, obj *corev1.ConfigMap, maps configMapClient) (controller.Result, error) {
				if obj.Data[before] == "" && before != "" {
					return controller.Result{RequeueAfter: time.Second}, nil
				}
				return sets(key, value)(ctx, obj, maps)
			}
		}
		s.run("first", s.inJournal(), after("a", "1", ""))
		s.run("second", s.inJournal(), after("b", "2", "a"))
		s.run("third", s.inJournal(), after("c", "3", "b"))
		s.create()
		time.Sleep(time.Minute)
		report := s.plane.Journal().Report(testObject, 0)
		if len(report.Loops) > 0 || len(s.warnings()) > 0 {
			t.Errorf("got loops %+v and warnings %q, want none", report.Loops, s.warnings())
		}
		s.isChain(report, "first", "second", "third")
	})
}

// isChain checks that each controller wrote once, caused by the write of the controller before it.
func (s *stage) isChain(report *why.Report, controllers ...string) {
	s.Helper()
	var writers []why.Run
	for _, run := range report.Runs {
		if len(run.Writes) > 0 {
			writers = append(writers, run)
		}
	}
	if len(writers) != len(controllers) {
		s.Fatalf("got %d runs with writes, want those of %q: %+v", len(writers), controllers, writers)
	}
	for k, run := range writers {
		if run.Controller != controllers[k] || k > 0 && !slices.Contains(run.After, writers[k-1].ID) {
			s.Errorf("got run %d of %s caused by %q: %+v", k, run.Controller, run.After, run)
		}
		if run.Duration < 100*time.Millisecond || len(run.Notes) != 1 || run.Err != "" {
			s.Errorf("run %d of %s took %s, with notes %q and error %q", k, run.Controller, run.Duration, run.Notes,
				run.Err)
		}
	}
}
