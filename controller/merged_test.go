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

// blockingSource is the function of a source that blocks for the pod slow until it is released: the changes meanwhile
// are merged before the source is notified of them.
type blockingSource struct{ release chan struct{} }

func (b blockingSource) requests(pod *corev1.Pod) []Request {
	if pod.Name == "slow" {
		<-b.release
	}
	return []Request{informer.KeyOf(pod)}
}

// labelReader is a reconciler that records the label of the cached pod, or its absence.
type labelReader struct {
	pods   *informer.Indexer[*corev1.Pod]
	mu     sync.Mutex
	labels []string
}

func (l *labelReader) Reconcile(_ context.Context, r Request) (Result, error) {
	found := "none"
	if pod, ok := l.pods.Get(r); ok {
		found = pod.Labels["l"]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Name == "p" {
		l.labels = append(l.labels, found)
	}
	return Result{}, nil
}

// labelsRead returns the states of the pod p that a controller reads while its source is behind. After each event but
// the last, another source requests a reconciliation.
func labelsRead(t *testing.T, predicate Predicate, list []*object.Object, events ...client.Event) (labels []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		source, l := blockingSource{make(chan struct{})}, &labelReader{}
		var trigger Trigger
		runFed(t, list, ManagerOptions{}, func(m *Manager, i *informer.Informer[*corev1.Pod]) {
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
			close(source.release)
			synctest.Wait()
		})
		labels = l.labels
	})
	return labels
}

// labelEvent returns an event of a pod with a label.
func labelEvent(t *testing.T, kind watch.EventType, label string, revision object.Revision) client.Event {
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
			LabelsChanged, a, []client.Event{labelEvent(t, watch.Modified, "b", 3),
				labelEvent(t, watch.Modified, "a", 4)},
			[]string{"a", "b", "a"},
		},
		"changed back, of no concern": {
			If(func(_, new *corev1.Pod) bool {
				return new != nil && (new.Name == "slow" || new.Labels["l"] == "mine")
			}), a,
			[]client.Event{labelEvent(t, watch.Modified, "b", 3), labelEvent(t, watch.Modified, "a", 4)},
			[]string{"b"},
		},
		"come and gone": {
			LabelsChanged, nil, []client.Event{labelEvent(t, watch.Added, "b", 3),
				labelEvent(t, watch.Deleted, "b", 4)},
			[]string{"b", "none"},
		},
		"one change is judged by what differs": {
			LabelsChanged, a, []client.Event{labelEvent(t, watch.Modified, "a", 3)},
			[]string{"a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := labelsRead(t, c.predicate, c.list, c.events...); !slices.Equal(got, c.want) {
				t.Errorf("the reconciler read %q, want %q", got, c.want)
			}
		})
	}
}
