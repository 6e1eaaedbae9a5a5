package informer

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/object"
)

// script runs operations on a FIFO, one per word, and returns the batches, one line per key:
//
//	+a1 ~a2 -a3    a is added, updated, deleted, at a revision
//	=a1,b2         a list of a and b; = alone is an empty one
//	sync           a resync
//	pop            everything is taken out
func script(t *testing.T, operations string) []string {
	t.Helper()
	var out []string
	cached := newIndexer[*corev1.ConfigMap](nil, slog.Default())
	f := newDeltaFIFO(cached)
	for _, word := range strings.Fields(operations) {
		switch {
		case word == "sync":
			f.resync()
		case word == "pop":
			f.pop(func(batch []*pending[*corev1.ConfigMap], _ object.Revision) {
				for _, p := range batch {
					if p.endList {
						out = append(out, "listed")
						continue
					}
					out = append(out, describe(p.key, p.deltas))
					if last := p.deltas[len(p.deltas)-1]; last.Type != deltaDeleted {
						cached.put(last.state)
					} else if known := cached.state(p.key); known != nil {
						cached.remove(known)
					}
				}
			})
		case word[0] == '=':
			var list []*state[*corev1.ConfigMap]
			for _, item := range strings.Split(word[1:], ",") {
				if item != "" {
					list = append(list, configMap(item))
				}
			}
			f.replace(list, true, 0)
		default:
			types := map[byte]deltaType{'+': deltaAdded, '~': deltaUpdated, '-': deltaDeleted}
			f.add([]delta[*corev1.ConfigMap]{{Type: types[word[0]], state: configMap(word[1:])}}, 0)
		}
	}
	return out
}

// configMap makes a config map of a letter and a revision.
func configMap(s string) *state[*corev1.ConfigMap] {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: s[:1], ResourceVersion: s[1:]}}
	revision, err := object.ParseRevision(s[1:])
	if err != nil {
		panic(err)
	}
	return &state[*corev1.ConfigMap]{key: KeyOf(obj), revision: revision, obj: obj}
}

func describe(key Key, deltas []delta[*corev1.ConfigMap]) string {
	line := key.Name
	for _, d := range deltas {
		line += fmt.Sprintf(" %s@%d", d.Type, d.state.revision)
		if d.unknown {
			line += "?"
		}
	}
	return line
}

func TestDeltaFIFO(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, script string
		want         []string
	}{
		{"keys keep the order in which they first came", "+b1 +a2 ~b3 pop", []string{"b Added@3", "a Added@2"}},
		{"a burst is one delta with the newest state", "+a1 pop ~a2 ~a3 ~a4 pop", []string{"a Added@1", "a Updated@4"}},
		{"a deletion is never left out", "+a1 -a2 +a3 ~a4 pop", []string{"a Added@1 Deleted@2 Added@4"}},
		{"what comes and goes behind a deletion is told", "+a1 -a2 +a3 -a4 pop",
			[]string{"a Added@1 Deleted@2 Added@3 Deleted@4"}},
		{"a doubled deletion is one", "+a1 pop -a2 -a2 pop", []string{"a Added@1", "a Deleted@2"}},
		{"what comes late is dropped", "+a3 ~a2 pop ~a5 -a4 pop", []string{"a Added@3", "a Updated@5"}},
		{"a late update does not bring a deleted object back", "+a1 pop -a3 ~a2 pop",
			[]string{"a Added@1", "a Deleted@3"}},
		{"the end of the first list is told once", "=a1,b2 ~a3 +c4 pop = pop", []string{
			"a Updated@3", "b Replaced@2", "listed", "c Added@4", "a Deleted@3?", "b Deleted@2?", "c Deleted@4?"}},
		{"an empty first list is a list", "= pop", []string{"listed"}},
		{"a list deletes what it does not have", "=a1,b1 pop =b2 pop",
			[]string{"a Replaced@1", "b Replaced@1", "listed", "b Replaced@2", "a Deleted@1?"}},
		{"a list deletes what is still waiting", "+a1 =b2 pop",
			[]string{"a Added@1 Deleted@1?", "b Replaced@2", "listed"}},
		{"a list is right even at a lower revision", "+a9 pop ~a10 =a2 pop",
			[]string{"a Added@9", "a Replaced@2", "listed"}},
		{"a seen deletion is better than a concluded one", "=a1 pop = -a5 pop",
			[]string{"a Replaced@1", "listed", "a Deleted@5"}},
		{"resync puts in what is cached", "+b1 +a1 pop sync pop",
			[]string{"b Added@1", "a Added@1", "a Sync@1", "b Sync@1"}},
		{"resync leaves alone what comes anyway", "+a1 +b1 pop ~a2 sync pop",
			[]string{"a Added@1", "b Added@1", "a Updated@2", "b Sync@1"}},
		{"a sync that was overtaken by a change is the change", "+a1 pop sync ~a2 pop",
			[]string{"a Added@1", "a Updated@2"}},
	} {
		if got := script(t, test.script); !slices.Equal(got, test.want) {
			t.Errorf("%s: %s\ngot  %q\nwant %q", test.name, test.script, got, test.want)
		}
	}
}

// While a batch is applied to the cache, the reflector can add changes; but a list is compared with the cache after the
// batch.
func TestChangesAreAddedDuringBatch(t *testing.T) {
	t.Parallel()
	cached := newIndexer[*corev1.ConfigMap](nil, slog.Default())
	f := newDeltaFIFO(cached)
	f.add([]delta[*corev1.ConfigMap]{{Type: deltaAdded, state: configMap("a1")},
		{Type: deltaAdded, state: configMap("b2")}}, 2)
	called, release := make(chan struct{}), make(chan struct{})
	replaced := make(chan struct{})
	go func() {
		<-called
		f.add([]delta[*corev1.ConfigMap]{{Type: deltaUpdated, state: configMap("a3")}}, 3)
		go func() {
			f.replace([]*state[*corev1.ConfigMap]{configMap("a3"), configMap("c4")}, true, 4)
			close(replaced)
		}()
		close(release)
	}()
	f.pop(func(batch []*pending[*corev1.ConfigMap], upTo object.Revision) {
		close(called)
		<-release
		for _, p := range batch {
			cached.put(p.deltas[0].state)
		}
		if upTo != 2 {
			t.Errorf("got revision %d at the end of the batch", upTo)
		}
	})
	<-replaced
	var got []string
	f.pop(func(batch []*pending[*corev1.ConfigMap], upTo object.Revision) {
		for _, p := range batch {
			if !p.endList {
				got = append(got, describe(p.key, p.deltas))
			}
		}
		if upTo != 4 {
			t.Errorf("got revision %d at the end of the second batch", upTo)
		}
	})
	if want := []string{"a Replaced@3", "c Replaced@4", "b Deleted@2?"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// named returns a config map with a letter as name, a revision and a UID.
func named(uid string, revision int) *state[*corev1.ConfigMap] {
	s := configMap(fmt.Sprint("a", revision))
	s.obj.UID = types.UID(uid)
	return s
}

// deletions returns the deltas of many objects of one name, each of which was created and deleted.
func deletions(times int, log *slog.Logger) []delta[*corev1.ConfigMap] {
	f := newDeltaFIFO(newIndexer[*corev1.ConfigMap](nil, log))
	for n := range times {
		uid := fmt.Sprint("u-", n)
		f.add([]delta[*corev1.ConfigMap]{{Type: deltaAdded, state: named(uid, 2*n+1)},
			{Type: deltaDeleted, state: named(uid, 2*n+2)}}, 0)
	}
	batch, _ := f.takeBatch()
	return batch[0].deltas
}

func TestShortLivedObjectsRetainFewStates(t *testing.T) {
	t.Parallel()
	states := 0
	next := 0
	for _, d := range deletions(100_000, slog.Default()) {
		if !d.vanished {
			states++
		}
		if d.Type != deltaDeleted {
			continue
		}
		if uid := fmt.Sprint("u-", next); string(d.state.uid()) != uid ||
			d.state.revision != object.Revision(2*next+2) {
			t.Fatalf("got the deletion of %s at %d, want that of %s", d.state.uid(), d.state.revision, uid)
		}
		next++
	}
	if next != 100_000 || states > maxDeltas+1 {
		t.Errorf("got deletions of %d objects, %d with states; want 100000, at most %d", next, states, maxDeltas+1)
	}
}

func TestDroppedNotificationsAreLogged(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	deltas := deletions(maxTraces+100, slog.New(slog.NewTextHandler(&log, nil)))
	if len(deltas) > maxTraces+maxDeltas || deltas[len(deltas)-1].Type != deltaDeleted {
		t.Errorf("got %d deltas, the last %s", len(deltas), deltas[len(deltas)-1].Type)
	}
	if n := strings.Count(log.String(), "handlers miss some deletions"); n != 1 {
		t.Errorf("the loss was logged %d times, want 1: %s", n, &log)
	}
}

func TestListReportsReplacedObject(t *testing.T) {
	t.Parallel()
	f := newDeltaFIFO(newIndexer[*corev1.ConfigMap](nil, slog.Default()))
	f.add([]delta[*corev1.ConfigMap]{{Type: deltaAdded, state: named("first", 1)}}, 1)
	f.replace([]*state[*corev1.ConfigMap]{named("second", 3)}, true, 3)
	batch, _ := f.takeBatch()
	if got, want := describe(batch[0].key, batch[0].deltas), "a Added@1 Deleted@1? Replaced@3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
