package controller

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/object"
)

// behind is the function of a source that blocks for the pod slow until it is released: the changes meanwhile are
// merged before the source is notified of them.
type behind struct{ goOn chan struct{} }

func (b behind) requests(pod *corev1.Pod) []Request {
	if pod.Name == "slow" {
		<-b.goOn
	}
	return []Request{informer.KeyOf(pod)}
}

// looking is a reconciler that records the label of the cached pod, or its absence.
type looking struct {
	pods *informer.Indexer[*corev1.Pod]
	mu   sync.Mutex
	saw  []string
}

func (l *looking) Reconcile(_ context.Context, r Request) (Result, error) {
	found := "none"
	if pod, ok := l.pods.Get(r); ok {
		found = pod.Labels["l"]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Name == "p" {
		l.saw = append(l.saw, found)
	}
	return Result{}, nil
}

// sight returns the states of the pod p that a controller reads while its source is behind. After each event but the
// last, another source requests a reconciliation.
func sight(t *testing.T, predicate Predicate, list []*object.Object, events ...client.Event) (saw []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		source, l := behind{make(chan struct{})}, &looking{}
		var trigger Trigger
		fed(t, list, ManagerOptions{}, func(m *Manager, i *informer.Informer[*corev1.Pod]) {
			l.pods = i.Indexer()
			m.Add(Options{Name: "test", Sources: []Source{Watches(i, source.requests, predicate), &trigger},
				Reconciler: l})
		}, func(f *feeder) {
			slow := stored(t, owned("slow", "ReplicaSet", "rs"), 2)
			f.events <- client.Event{Type: watch.Added, Codec: podCodec{}, Object: slow, Revision: 2}
			for n, event := range events {
				if n > 0 {
					trigger.Add(Request{Namespace: "ns", Name: "p"})
				}
				synctest.Wait()
				f.events <- event
				synctest.Wait()
			}
			close(source.goOn)
			synctest.Wait()
		})
		saw = l.saw
	})
	return saw
}

// told returns an event of a pod with a label.
func told(t *testing.T, kind watch.EventType, label string, revision object.Revision) client.Event {
	t.Helper()
	return client.Event{Type: kind, Codec: podCodec{}, Object: generation(t, 1, label, revision), Revision: revision}
}

// A reconciler that has read a state from the cache and acted on it is called again after the state was reverted,
// although the source, which was behind, observes no difference.
func TestVanishedObjectIsReconciledAgain(t *testing.T) {
	t.Parallel()
	a := []*object.Object{generation(t, 1, "a", 1)}
	for name, c := range map[string]struct {
		predicate Predicate
		list      []*object.Object
		events    []client.Event
		want      []string
	}{
		"changed and changed back": {
			LabelsChanged, a, []client.Event{told(t, watch.Modified, "b", 3), told(t, watch.Modified, "a", 4)},
			[]string{"a", "b", "a"},
		},
		"changed back, of no concern": {
			If(func(_, new *corev1.Pod) bool {
				return new != nil && (new.Name == "slow" || new.Labels["l"] == "mine")
			}), a,
			[]client.Event{told(t, watch.Modified, "b", 3), told(t, watch.Modified, "a", 4)},
			[]string{"b"},
		},
		"come and gone": {
			LabelsChanged, nil, []client.Event{told(t, watch.Added, "b", 3), told(t, watch.Deleted, "b", 4)},
			[]string{"b", "none"},
		},
		"one change is judged by what differs": {
			LabelsChanged, a, []client.Event{told(t, watch.Modified, "a", 3)},
			[]string{"a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if saw := sight(t, c.predicate, c.list, c.events...); !slices.Equal(saw, c.want) {
				t.Errorf("the reconciler read %q, want %q", saw, c.want)
			}
		})
	}
}
