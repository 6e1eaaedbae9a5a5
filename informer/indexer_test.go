package informer

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

func quietly() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// valued returns a state of a config map that the index lists under the given values.
func valued(name string, revision int, values ...string) *state[*corev1.ConfigMap] {
	obj := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns-" + name[:1], Name: name, ResourceVersion: strconv.Itoa(revision)},
		Data:       map[string]string{"values": strings.Join(values, ",")},
	}
	return &state[*corev1.ConfigMap]{key: KeyOf(obj), revision: object.Revision(revision), obj: obj}
}

func valuesOf(obj *corev1.ConfigMap) []string { return strings.Split(obj.Data["values"], ",") }

func (x *Indexer[T]) change(f func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f()
}

// After any puts and removes, each index returns the objects that a scan of all objects finds.
func TestIndexesMatchScans(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		x := newIndexer(map[string]IndexFunc[*corev1.ConfigMap]{"values": valuesOf}, quietly())
		stored := map[string]*state[*corev1.ConfigMap]{}
		for step := range 300 {
			name := string(rune('a'+random.IntN(3))) + strconv.Itoa(random.IntN(8))
			if random.IntN(3) == 0 {
				if s := stored[name]; s != nil {
					x.change(func() { x.remove(s) })
					delete(stored, name)
				}
			} else {
				s := valued(name, step+1, strconv.Itoa(random.IntN(4)), strconv.Itoa(random.IntN(4)))
				x.change(func() { x.put(s) })
				stored[name] = s
			}
			if step == 150 {
				x.AddIndex("late", valuesOf)
			}
			listed := x.List() // a reader whose list must not change under it
			defer func(before []*corev1.ConfigMap) {
				if !slices.Equal(listed, before) {
					t.Errorf("seed %d: a list changed under its reader", seed)
				}
			}(slices.Clone(listed))
		}
		if x.Len() != len(stored) || len(x.List()) != len(stored) {
			t.Fatalf("seed %d: got length %d and %d in the list, want %d", seed, x.Len(), len(x.List()), len(stored))
		}
		for value := range 5 {
			want := map[string]bool{}
			for name, s := range stored {
				if slices.Contains(valuesOf(s.obj), strconv.Itoa(value)) {
					want[name] = true
				}
			}
			for _, index := range []string{"values", "late"} {
				got := map[string]bool{}
				for obj := range x.Each(index, strconv.Itoa(value)) {
					if got[obj.Name] || stored[obj.Name].obj != obj {
						t.Fatalf("seed %d: got %s twice or in an outdated state", seed, obj.Name)
					}
					got[obj.Name] = true
				}
				if !maps.Equal(got, want) {
					t.Fatalf("seed %d: index %s has %v under %d, want %v", seed, index, got, value, want)
				}
			}
		}
	}
}

func TestIndexFunctionPanicAffectsOneObject(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	x := newIndexer(map[string]IndexFunc[*corev1.ConfigMap]{
		"touchy": func(obj *corev1.ConfigMap) []string {
			if obj.Name == "bad" {
				panic("not this one")
			}
			return []string{"x"}
		},
		"calm": func(*corev1.ConfigMap) []string { return []string{"x"} },
	}, slog.New(slog.NewTextHandler(&log, nil)))
	x.change(func() {
		x.put(valued("bad", 1, "1"))
		x.put(valued("good", 2, "1"))
	})
	for index, want := range map[string]int{"touchy": 1, "calm": 2} {
		if got, err := x.ByIndex(index, "x"); err != nil || len(got) != want {
			t.Errorf("index %s has %d objects (%v), want %d", index, len(got), err, want)
		}
	}
	if x.Len() != 2 {
		t.Errorf("%d objects", x.Len())
	}
	for _, part := range []string{"index=touchy", "object=ns-b/bad", `panic="not this one"`, "indexer_test.go"} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log lacks %q:\n%s", part, log.String())
		}
	}
}

func TestReadsDoNotAllocatePerObject(t *testing.T) {
	x := newIndexer[*corev1.ConfigMap](nil, quietly())
	x.change(func() {
		for n := range 1000 {
			x.put(valued(fmt.Sprint("a", n), n+1, "1"))
		}
	})
	found := 0
	for name, read := range map[string]func(){
		"All": func() {
			for range x.All() {
				found++
			}
		},
		"Each": func() {
			for range x.Each(byNamespace, "ns-a") {
				found++
			}
		},
		"InNamespace": func() { found += len(x.InNamespace("ns-a")) },
		"ByIndex": func() {
			objects, _ := x.ByIndex(byNamespace, "ns-a")
			found += len(objects)
		},
	} {
		if allocations := testing.AllocsPerRun(10, read); allocations > 1 {
			t.Errorf("%s of 1000 objects: got %v allocations", name, allocations)
		}
	}
	if found == 0 || found%1000 != 0 {
		t.Errorf("%d objects found", found)
	}
}

func TestHeadIndexes(t *testing.T) {
	t.Parallel()
	x := newIndexer[*corev1.Pod](nil, quietly())
	x.AddHeadIndex("owner", ByOwner)
	x.AddHeadIndex("app", ByLabel("app"))
	x.AddHeadIndex("home", func(head Head) []string { return []string{head.Namespace} })
	x.AddIndex("node", ByNodeName)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{UID: "one"}, {UID: "two"}}},
		Spec: corev1.PodSpec{NodeName: "n1"},
	}
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "q"}}
	x.change(func() {
		for _, obj := range []*corev1.Pod{pod, other} {
			x.put(&state[*corev1.Pod]{key: KeyOf(obj), obj: obj})
		}
	})
	for _, query := range []struct {
		index, value string
		want         int
	}{
		{"owner", "one", 1}, {"owner", "two", 1}, {"owner", "", 0}, {"app", "web", 1}, {"app", "", 0},
		{"home", "ns", 2},
		{"node", "n1", 1}, {"node", "", 1}, {"namespace", "ns", 2},
	} {
		if got, err := x.ByIndex(query.index, query.value); err != nil || len(got) != query.want {
			t.Errorf("index %s has %d objects under %q (%v), want %d", query.index, len(got), query.value, err,
				query.want)
		}
	}
}
