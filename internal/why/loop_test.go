package why

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
)

// loops are the hot loops that a journal names about an object, as it says them.
func loops(j *Journal, about Object) []string {
	var texts []string
	for _, l := range j.Report(about, 1).Loops {
		texts = append(texts, fmt.Sprint(l.Times, " ", &l))
	}
	return texts
}

func applied(name string, revision object.Revision) client.Write {
	w := wrote(name, revision)
	w.Verb = "apply"
	return w
}

// An idle run counts once, regardless of the number of its ineffective writes: a reconciler that applies all
// desired objects writes them in every run.
func TestIdleRunsCountOnce(t *testing.T) {
	t.Parallel()
	j := New(withoutLog(Options{}))
	run := func() {
		var writes []client.Write
		for k := range 7 {
			writes = append(writes, applied(fmt.Sprint("child-", k), object.Revision(10+k)))
		}
		ran(j, "app", "a", Cause{Kind: Started, Object: mapOf("a"), Revision: 1}, writes...)
	}
	for range 5 {
		run()
	}
	if got := loops(j, Object{}); len(got) > 0 {
		t.Errorf("after the first run and four idle ones: %q", got)
	}
	run()
	want := []string{"5 app writes configmaps/default/child-0 without changing it: it should compare before it writes"}
	for _, about := range []string{"a", "child-0"} { // what is written, and what for
		if got := loops(j, mapOf(about)); !slices.Equal(got, want) {
			t.Errorf("after the fifth idle run, about %s: %q", about, got)
		}
	}
}

// step is one run of a controller, triggered by the writes of the previous one. It returns a verb and a name
// per write.
type step func(k int) []string

// play runs controllers on the object a, each because of the last write of the run before.
func play(j *Journal, runs int, steps ...step) {
	cause := Cause{Kind: Started, Object: mapOf("a"), Revision: 1}
	revision := object.Revision(1)
	for k := range runs {
		var writes []client.Write
		for _, text := range steps[k%len(steps)](k) {
			verb, name, _ := strings.Cut(text, " ")
			revision++
			w := wrote(name, revision)
			w.Verb, w.UID = verb, types.UID(name)
			if verb == "applyNew" {
				w.Verb, w.Status = "apply", 201
			}
			writes = append(writes, w)
		}
		ran(j, fmt.Sprint("c-", k%len(steps)), "a", cause, writes...)
		last := writes[len(writes)-1]
		cause = change(last.Name, revision-1, revision)
	}
}

func TestProgressIsNotALoop(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]step{
		"makes one child after another": {func(k int) []string {
			return []string{fmt.Sprint("create child-", k)}
		}},
		"applies one child after another": {func(k int) []string {
			return []string{fmt.Sprint("applyNew child-", k), "update a"}
		}},
		"makes children and counts them": {func(k int) []string {
			return []string{fmt.Sprint("create child-", k), "patch a"}
		}},
		"takes away one child after another": {func(k int) []string {
			return []string{fmt.Sprint("delete child-", k), "patch a"}
		}},
		"updates one child after another": {func(k int) []string {
			return []string{fmt.Sprint("update child-", k)}
		}},
		"makes children, which another one does": {func(k int) []string {
			return []string{fmt.Sprint("create child-", k)}
		}, func(int) []string { return []string{"patch a"} }},
	} {
		j := New(withoutLog(Options{}))
		play(j, 200, steps...)
		if got := loops(j, Object{}); len(got) > 0 {
			t.Errorf("%s is reported as a loop: %q", name, got)
		}
	}
}

func TestRepeatedStateIsALoop(t *testing.T) {
	t.Parallel()
	for want, steps := range map[string][]step{
		"c-0 triggers itself": {func(int) []string { return []string{"update a"} }},
		"c-0 and c-1 trigger each other": {
			func(k int) []string { return []string{fmt.Sprint("create child-", k), "patch a"} },
			func(k int) []string { return []string{fmt.Sprint("delete child-", k-1), "update a"} },
		},
		"c-0 and c-1 undo each other's changes": {func(int) []string {
			return []string{"update a"}
		}, func(int) []string { return []string{"patch a"} }},
	} {
		j := New(withoutLog(Options{}))
		play(j, 200, steps...)
		got := j.Report(mapOf("a"), 1).Loops
		if len(got) != 1 || !strings.Contains(got[0].String(), want) || got[0].Times < 50 {
			t.Errorf("want one in which %s, got %+v", want, got)
		}
		for _, l := range got {
			if len(l.Objects) > maxParts {
				t.Errorf("one loop retains %d objects", len(l.Objects))
			}
		}
	}
}

func TestEndlessRecreationIsALoop(t *testing.T) {
	t.Parallel()
	j := New(withoutLog(Options{}))
	for k := range 200 {
		was, now := types.UID(fmt.Sprint(k)), types.UID(fmt.Sprint(k+1))
		revision := object.Revision(2*k + 1)
		deleted, back := wrote("a", 0), wrote("a", revision+2)
		deleted.Verb, deleted.UID = "delete", was
		back.Verb, back.UID = "create", now
		ran(j, "renewer", "a", Cause{Kind: Changed, Change: Added, Object: mapOf("a"), UID: was, Revision: revision},
			deleted, back)
	}
	got := j.Report(mapOf("a"), 1).Loops
	if len(got) != 1 || !strings.Contains(got[0].String(), "renewer triggers itself") || got[0].Times < 150 {
		t.Errorf("want one in which renewer triggers itself, got %+v", got)
	}
}
