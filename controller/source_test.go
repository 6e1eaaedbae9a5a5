package controller

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/object"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// feeder is a client.Source that yields one list and then the events that a test sends.
type feeder struct {
	list   []*object.Object
	events chan client.Event
}

func (f *feeder) List(context.Context, schema.GroupVersionResource, client.Options) (client.List, error) {
	return client.List{Items: f.list, Codec: podCodec{}, Revision: 1}, nil
}

func (f *feeder) Watch(context.Context, schema.GroupVersionResource, client.Options) (client.Watch, error) {
	return f, nil
}

func (f *feeder) Next(ctx context.Context) ([]client.Event, error) {
	select {
	case event := <-f.events:
		return []client.Event{event}, nil
	case <-ctx.Done():
		return nil, io.EOF
	}
}

func (f *feeder) Stop() {}

// podCodec reads pods in JSON.
type podCodec struct{}

func (podCodec) Stamp() object.Stamp                                { return 1 }
func (podCodec) Encode(object.Form, runtime.Object) ([]byte, error) { return nil, io.EOF }
func (podCodec) Cache() *object.Cache                               { return nil }
func (podCodec) Decode(_ object.Form, data []byte) (runtime.Object, error) {
	pod := &corev1.Pod{}
	return pod, json.Unmarshal(data, pod)
}

// stored returns a pod as a source returns it.
func stored(t *testing.T, pod *corev1.Pod, revision object.Revision) *object.Object {
	pod.ResourceVersion = revision.String()
	data, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	encoding, err := object.NewEncoding(object.Form{APIVersion: "v1"}, data)
	if err != nil {
		t.Fatal(err)
	}
	o := object.New(object.Header{Key: object.KeyOf(pods.GroupResource(), pod.Namespace, pod.Name)}, podCodec{},
		encoding)
	o.Revision = revision
	return o
}

func owned(name, kind, owner string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name,
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: kind, Name: owner, Controller: new(true)},
		}}}
}

func TestSourcesMapObjectsToRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &feeder{
			list: []*object.Object{stored(t, owned("p1", "ReplicaSet", "rs1"), 1),
				stored(t, owned("p2", "Job", "j"), 1)},
			events: make(chan client.Event),
		}
		m, err := NewManager(&rest.Config{Host: "http://unused"},
			ManagerOptions{Source: f, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		i := informer.For[*corev1.Pod](m.Informers(), pods)
		var mu sync.Mutex
		reconciled := map[string][]string{}
		for name, source := range map[string]Source{
			"for":  For(i),
			"owns": Owns(i, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}),
			"watches": Watches(i, func(pod *corev1.Pod) []Request {
				return []Request{{Name: "all"}}
			}),
		} {
			m.Add(Options{Name: name, Sources: []Source{source},
				Reconciler: Func(func(_ context.Context, r Request) (Result, error) {
					mu.Lock()
					defer mu.Unlock()
					reconciled[name] = append(reconciled[name], r.Name)
					return Result{}, nil
				})})
		}
		expect := func(controller string, want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(reconciled[controller])
			if !slices.Equal(reconciled[controller], want) {
				t.Errorf("%s: got reconciles of %q, want %q", controller, reconciled[controller], want)
			}
			delete(reconciled, controller)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { m.Run(ctx) })
		<-m.Ready()
		expect("for", "p1", "p2")
		expect("owns", "rs1")
		expect("watches", "all")
		// A pod whose owner changes concerns both owners.
		f.events <- client.Event{Type: watch.Modified, Codec: podCodec{},
			Object: stored(t, owned("p1", "ReplicaSet", "rs2"), 2), Revision: 2}
		expect("for", "p1")
		expect("owns", "rs1", "rs2")
		f.events <- client.Event{Type: watch.Deleted, Codec: podCodec{},
			Object: stored(t, owned("p1", "ReplicaSet", "rs2"), 3), Revision: 3}
		expect("for", "p1")
		expect("owns", "rs2")
		cancel()
		running.Wait()
	})
}

func TestOwnerIsInNamespaceOrClusterScoped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &feeder{
			list: []*object.Object{stored(t, owned("p1", "ReplicaSet", "rs1"), 1),
				stored(t, owned("p2", "Job", "j"), 1)},
			events: make(chan client.Event),
		}
		m, err := NewManager(&rest.Config{Host: "http://unused"},
			ManagerOptions{Source: f, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		pods, kind := informer.For[*corev1.Pod](m.Informers(), pods),
			schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
		reconciled := make(chan Request, 10)
		m.Add(Options{Name: "owns", Sources: []Source{Owns(pods, kind), ownsCluster(pods, kind)}, Reconciler: Func(
			func(_ context.Context, r Request) (Result, error) {
				reconciled <- r
				return Result{}, nil
			})})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { m.Run(ctx) })
		got := map[Request]bool{<-reconciled: true, <-reconciled: true}
		if !got[Request{Namespace: "ns", Name: "rs1"}] || !got[Request{Name: "rs1"}] {
			t.Errorf("got reconciles of %v", got)
		}
		cancel()
		running.Wait()
	})
}
