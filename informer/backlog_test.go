package informer

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/object"
)

type heldMap = *state[*corev1.ConfigMap]

// coalesce adds notices to a backlog and returns the notifications that it yields: +a1 is an addition, ~a1,2 an update
// from one revision to another, ?a1 a resync, -a1 a deletion, synced the end of the list. The word dequeue removes one
// entry.
func coalesce(script string) []string { return coalesceFor(script, false) }

// coalesceFor is like coalesce, for a VanishHandler if vanish is set. !a1 is the deletion of an object that was never
// reported.
func coalesceFor(script string, vanish bool) []string {
	b := backlog[*corev1.ConfigMap]{reportVanished: vanish}
	var out []string
	for _, word := range strings.Fields(script) {
		if word == "dequeue" {
			out = append(out, outcome(b.dequeue())...)
			continue
		}
		b.add(noticeOf(word))
	}
	for u := b.dequeue(); u != nil; u = b.dequeue() {
		out = append(out, outcome(u)...)
	}
	return out
}

func noticeOf(word string) notice[*corev1.ConfigMap] {
	switch word[0] {
	case '+':
		return notice[*corev1.ConfigMap]{kind: noticeAdd, new: configMap(word[1:])}
	case '~':
		from, to, _ := strings.Cut(word[1:], ",")
		return notice[*corev1.ConfigMap]{kind: noticeUpdate, old: configMap(from), new: configMap(from[:1] + to)}
	case '?':
		return notice[*corev1.ConfigMap]{kind: noticeSync, new: configMap(word[1:])}
	case '-':
		return notice[*corev1.ConfigMap]{kind: noticeDelete, old: configMap(word[1:])}
	}
	return notice[*corev1.ConfigMap]{kind: noticeSynced}
}

// outcome returns the notifications of an entry, in the words of coalesce.
func outcome(u *backlogEntry[*corev1.ConfigMap]) (words []string) {
	if u.synced {
		return []string{"synced"}
	}
	if u.deleted != nil {
		words = append(words, fmt.Sprintf("-%s%d", u.key.Name, u.deleted.revision))
	}
	for _, s := range u.vanished {
		words = append(words, fmt.Sprintf("!%s%d", u.key.Name, s.revision))
	}
	switch {
	case u.new == nil:
	case u.old == nil:
		words = append(words, fmt.Sprintf("+%s%d", u.key.Name, u.new.revision))
	case u.old == u.new:
		words = append(words, fmt.Sprintf("?%s%d", u.key.Name, u.new.revision))
	default:
		words = append(words, fmt.Sprintf("~%s%d,%d", u.key.Name, u.old.revision, u.new.revision))
	}
	return words
}

func TestBacklogIsCoalescedPerObject(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, script, want string }{
		{"objects keep the order in which they first came", "+b1 +a2 ~b1,3 ~a2,4", "+b3 +a4"},
		{"updates are one, from the first state to the last", "~a1,2 ~a2,3 ~a3,4", "~a1,4"},
		{"an addition that was updated is an addition", "+a1 ~a1,2", "+a2"},
		{"a created and deleted object is not reported", "+a1 -a2 +b3", "+b3"},
		{"an updated and deleted object is deleted", "~a1,2 -a3", "-a3"},
		{"a deleted and recreated object is reported as both", "-a1 +a2 ~a2,3", "-a1 +a3"},
		{"an object that is deleted again is deleted once", "-a1 +a2 -a3 +a4 -a5", "-a1"},
		{"a resync does not displace a change", "~a1,2 ?a2", "~a1,2"},
		{"a resync does not displace an addition", "+a1 ?a1", "+a1"},
		{"a change displaces a resync", "?a1 ~a1,2", "~a1,2"},
		{"a deletion displaces a resync", "?a1 -a2", "-a2"},
		{"resyncs are one", "?a1 ?a1", "?a1"},
		{"a dequeued notification is not coalesced", "+a1 dequeue ~a1,2 -a3", "+a1 -a3"},
		{"the end of the list keeps its position", "+a1 synced +b2 ~a1,3", "+a3 synced +b2"},
		{"the end of the list stays if the objects before it are deleted", "+a1 synced -a2", "synced"},
	} {
		if got := strings.Join(coalesce(test.script), " "); got != test.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", test.name, test.script, got, test.want)
		}
	}
}

func TestVanishHandlersAreNotifiedOfDeletedObjects(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, script, want string }{
		{"a created and deleted object is reported as vanished", "+a1 -a2 +b3", "!a2 +b3"},
		{"in the order of its key", "-a1 +a2 -a3 +a4 -a5 +a6", "-a1 !a3 !a5 +a6"},
		{"a deletion is reported once", "+a1 dequeue -a2", "+a1 -a2"},
		{"an update of a recreated object is not lost", "+a1 ~a1,2 -a3 +a4 ~a4,5", "!a3 +a5"},
	} {
		if got := strings.Join(coalesceFor(test.script, true), " "); got != test.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", test.name, test.script, got, test.want)
		}
	}
}

// vanishing returns a backlog with many objects that were created and deleted, with the names that a function returns.
func vanishing(count int, name func(int) string) *backlog[*corev1.ConfigMap] {
	b := &backlog[*corev1.ConfigMap]{reportVanished: true}
	for n := range count {
		s := configMap(fmt.Sprint("a", n+1))
		s.obj.Name, s.obj.UID, s.key.Name = name(n), types.UID(fmt.Sprint("u-", n)), name(n)
		b.add(notice[*corev1.ConfigMap]{kind: noticeAdd, new: s})
		b.add(notice[*corev1.ConfigMap]{kind: noticeDelete, old: s})
	}
	return b
}

func TestManyDeletedObjectsAreReportedByUID(t *testing.T) {
	t.Parallel()
	for what, name := range map[string]func(int) string{
		"many names": func(n int) string { return fmt.Sprint("a-", n) },
		"one name":   func(int) string { return "a" },
	} {
		b := vanishing(100_000, name)
		next, states := 0, 0
		for u := b.dequeue(); u != nil; u = b.dequeue() {
			for _, s := range u.vanished {
				if want := fmt.Sprint(name(next), " u-", next, " ", next+1); fmt.Sprint(s.key.Name, " ", s.uid(), " ",
					s.revision) != want {
					t.Fatalf("%s: got notification %s %s %d, want %s", what, s.key, s.uid(), s.revision, want)
				}
				if _, err := s.read(); err == nil {
					states++
				}
				next++
			}
		}
		if next != 100_000 || states != maxVanished || b.vanished != 0 || b.lost != 0 {
			t.Errorf("%s: got %d deletions, %d with states; %d are left, %d lost", what, next, states, b.vanished,
				b.lost)
		}
	}
}

// vanishHandler is a VanishHandler that does nothing.
type vanishHandler struct {
	HandlerFuncs[*corev1.ConfigMap]
}

func (vanishHandler) OnVanish(*corev1.ConfigMap, bool) {}

func TestPendingDeletedObjectsAreBounded(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	l := newListener[*corev1.ConfigMap](vanishHandler{}, nil, slog.New(slog.NewTextHandler(&log, nil)))
	l.waiting = *vanishing(maxTraces-100, func(n int) string { return fmt.Sprint("a-", n) })
	for n := range 200 {
		s := configMap(fmt.Sprint("b", n+1))
		s.key.Name = fmt.Sprint("b-", n)
		l.enqueue([]notice[*corev1.ConfigMap]{{kind: noticeAdd, new: s}, {kind: noticeDelete, old: s}})
	}
	if n := strings.Count(log.String(), "too far behind to be notified"); n != 1 {
		t.Errorf("the loss was logged %d times, want 1: %s", n, &log)
	}
	b := &l.waiting
	if b.length != maxTraces || len(b.byKey) != maxTraces || b.lost != 100 {
		t.Errorf("got %d entries, %d by key, %d lost; want %d, %[4]d and 100", b.length, len(b.byKey), b.lost,
			maxTraces)
	}
}

// In every order of changes and deliveries, the notifications of a handler add up to the current objects, and a
// deletion and an addition per object are pending at most.
func TestBacklogConverges(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		var b backlog[*corev1.ConfigMap]
		current, reported := map[Key]heldMap{}, map[Key]heldMap{}
		listen := func(u *backlogEntry[*corev1.ConfigMap]) {
			if u.deleted != nil {
				if reported[u.key] == nil {
					t.Fatalf("seed %d: got the deletion of %s, whose addition was not reported", seed, u.key)
				}
				delete(reported, u.key)
			}
			if u.new != nil {
				if reported[u.key] != u.old {
					t.Fatalf("seed %d: got an update of %s whose old state was not reported", seed, u.key)
				}
				reported[u.key] = u.new
			}
		}
		for revision := object.Revision(1); revision < 500; revision++ {
			s := configMap(fmt.Sprint(string(rune('a'+random.IntN(5))), revision))
			old := current[s.key]
			switch {
			case random.IntN(4) == 0:
				if u := b.dequeue(); u != nil {
					listen(u)
				}
			case old == nil:
				current[s.key] = s
				b.add(notice[*corev1.ConfigMap]{kind: noticeAdd, new: s})
			case random.IntN(3) == 0:
				delete(current, s.key)
				b.add(notice[*corev1.ConfigMap]{kind: noticeDelete, old: old})
			case random.IntN(3) == 0:
				b.add(notice[*corev1.ConfigMap]{kind: noticeSync, new: old})
			default:
				current[s.key] = s
				b.add(notice[*corev1.ConfigMap]{kind: noticeUpdate, old: old, new: s})
			}
			if b.length > 5 || len(b.byKey) != b.length {
				t.Fatalf("seed %d: got %d entries for 5 objects, %d by key", seed, b.length, len(b.byKey))
			}
		}
		for u := b.dequeue(); u != nil; u = b.dequeue() {
			listen(u)
		}
		if !maps.Equal(current, reported) {
			t.Fatalf("seed %d: the notifications add up to %v, want %v", seed, slices.Collect(maps.Keys(reported)),
				slices.Collect(maps.Keys(current)))
		}
	}
}
