package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/object"
)

// slowRecorder records the requests that a controller reconciles. Each reconciliation takes some time.
type slowRecorder struct {
	duration time.Duration
	mu       sync.Mutex
	names    []string
}

func (d *slowRecorder) Reconcile(_ context.Context, r Request) (Result, error) {
	d.mu.Lock()
	d.names = append(d.names, r.Name)
	d.mu.Unlock()
	time.Sleep(d.duration)
	return Result{}, nil
}

// read returns the requests since its last call.
func (d *slowRecorder) read() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	names := d.names
	d.names = nil
	return names
}

// runFed runs controllers of a feeder's pods in a bubble until test returns.
func runFed(t *testing.T, list []*object.Object, options ManagerOptions,
	controllers func(*Manager, *informer.Informer[*corev1.Pod]), test func(*feeder)) {
	t.Helper()
	f := &feeder{list: list, events: make(chan client.Event)}
	options.Source, options.Log = f, slog.New(slog.DiscardHandler)
	m, err := NewManager(&rest.Config{Host: "http://unused"}, options)
	if err != nil {
		t.Fatal(err)
	}
	controllers(m, informer.For[*corev1.Pod](m.Informers(), pods))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { m.Run(ctx) })
	<-m.Ready()
	test(f)
	cancel()
	running.Wait()
}

// generation returns a pod with a generation.
func generation(t *testing.T, n int64, label string, revision object.Revision) *object.Object {
	t.Helper()
	pod := owned("p", "ReplicaSet", "rs")
	pod.Generation, pod.Labels = n, map[string]string{"l": label}
	return stored(t, pod, revision)
}

func TestSourcesRequireAllPredicates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		recorders := map[string]*slowRecorder{"for": {}, "owns": {}, "watches": {}, "all": {}}
		runFed(t, []*object.Object{generation(t, 1, "a", 1)}, ManagerOptions{},
			func(m *Manager, i *informer.Informer[*corev1.Pod]) {
				for name, source := range map[string]Source{
					"for":  For(i, GenerationChanged),
					"owns": Owns(i, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, GenerationChanged),
					"watches": Watches(i, func(*corev1.Pod) []Request {
						return []Request{{Name: "any"}}
					}, GenerationChanged, If(func(old, new *corev1.Pod) bool {
						// the previous state and the new one
						return old == nil || new == nil || old.Labels["l"] == "a" && new.Labels["l"] == "b"
					})),
					"all": For(i),
				} {
					m.Add(Options{Name: name, Sources: []Source{source}, Reconciler: recorders[name]})
				}
			}, func(f *feeder) {
				expect := func(step string, want map[string]int) {
					t.Helper()
					for name, d := range recorders {
						if got := d.read(); len(got) != want[name] {
							t.Errorf("%s: %s: got reconciles of %q, want %d", step, name, got, want[name])
						}
					}
				}
				modified := func(n int64, label string, revision object.Revision) {
					f.events <- client.Event{Type: watch.Modified, Codec: podCodec{},
						Object: generation(t, n, label, revision), Revision: revision}
				}
				expect("at first", map[string]int{"for": 1, "owns": 1, "watches": 1, "all": 1})
				modified(1, "a", 2)
				expect("a change of the status", map[string]int{"all": 1})
				modified(2, "a", 3)
				expect("a change of the spec", map[string]int{"for": 1, "owns": 1, "all": 1})
				modified(3, "b", 4)
				expect("a change of both", map[string]int{"for": 1, "owns": 1, "watches": 1, "all": 1})
				f.events <- client.Event{Type: watch.Deleted, Codec: podCodec{}, Object: generation(t, 3, "b", 5),
					Revision: 5}
				expect("the deletion", map[string]int{"for": 1, "owns": 1, "watches": 1, "all": 1})
			})
	})
}

// An update whose old and new states map to the same request enqueues it once, even if a worker is ready to
// dequeue it before the function has been called with both states.
func TestUpdateIsReconciledOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reconciled := &slowRecorder{}
		runFed(t, []*object.Object{generation(t, 1, "a", 1)}, ManagerOptions{},
			func(m *Manager, i *informer.Informer[*corev1.Pod]) {
				m.Add(Options{Name: "web", Reconciler: reconciled, Sources: []Source{
					Watches(i, func(pod *corev1.Pod) []Request {
						time.Sleep(time.Second)
						return []Request{{Name: "all"}, {Name: pod.Labels["l"]}}
					}),
				}})
			}, func(f *feeder) {
				time.Sleep(time.Minute)
				reconciled.read()
				f.events <- client.Event{Type: watch.Modified, Codec: podCodec{}, Object: generation(t, 2, "b", 2),
					Revision: 2}
				time.Sleep(time.Minute)
				got := reconciled.read()
				slices.Sort(got)
				if want := []string{"a", "all", "b"}; !slices.Equal(got, want) {
					t.Errorf("got reconciles of %q, want %q", got, want)
				}
			})
	})
}

// If the function panics for the new state of an object, the requests of the old state are enqueued.
func TestPanicForNewStateEnqueuesOldState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reconciled := &slowRecorder{}
		runFed(t, []*object.Object{generation(t, 1, "a", 1)}, ManagerOptions{},
			func(m *Manager, i *informer.Informer[*corev1.Pod]) {
				m.Add(Options{Name: "web", Reconciler: reconciled, Sources: []Source{
					Watches(i, func(pod *corev1.Pod) []Request {
						if pod.Labels["l"] == "b" {
							panic("no such owner")
						}
						return []Request{{Name: pod.Labels["l"]}}
					}),
				}})
			}, func(f *feeder) {
				reconciled.read()
				f.events <- client.Event{Type: watch.Modified, Codec: podCodec{}, Object: generation(t, 2, "b", 2),
					Revision: 2}
				if got := reconciled.read(); !slices.Equal(got, []string{"a"}) {
					t.Errorf("got reconciles of %q, want the request of the old state", got)
				}
			})
	})
}

// Changes are reconciled before initial objects and before objects that are resynced.
func TestChangesPrecedeInitialObjectsAndResyncs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var list []*object.Object
		for n := range 20 {
			list = append(list, stored(t, owned(fmt.Sprintf("p-%02d", n), "ReplicaSet", "rs"), 1))
		}
		recorder := &slowRecorder{duration: time.Second}
		runFed(t, list, ManagerOptions{Resync: 10 * time.Minute}, func(m *Manager, i *informer.Informer[*corev1.Pod]) {
			m.Add(Options{Name: "slow", Sources: []Source{For(i)}, Reconciler: recorder})
		}, func(f *feeder) {
			change := func(kind watch.EventType, name string, revision object.Revision) {
				recorder.read()
				f.events <- client.Event{Type: kind, Codec: podCodec{},
					Object: stored(t, owned(name, "ReplicaSet", "rs"), revision), Revision: revision}
				time.Sleep(time.Second)
				if got := recorder.read(); !slices.Equal(got, []string{name}) {
					t.Errorf("%s %s while others wait: the next was %q", name, kind, got)
				}
			}
			time.Sleep(2500 * time.Millisecond) // of twenty
			change(watch.Added, "new", 2)
			// of twenty-one resynced objects
			time.Sleep(10*time.Minute - 3500*time.Millisecond + 2500*time.Millisecond)
			change(watch.Modified, "p-19", 3)
			time.Sleep(time.Minute)
			if got := recorder.read(); len(got) < 16 || slices.Contains(got, "p-19") {
				t.Errorf("got resyncs of %q after that, want the waiting objects, each once", got)
			}
		})
	})
}
