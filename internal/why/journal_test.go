package why

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/object"
)

var maps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func mapOf(name string) Object { return ObjectOf(maps.GroupResource(), "default", name) }

func withoutLog(o Options) Options {
	o.Log = slog.New(slog.DiscardHandler)
	return o
}

// change is the cause that an object was updated.
func change(name string, since, revision object.Revision) Cause {
	return Cause{Kind: Changed, Change: Updated, Object: mapOf(name), Since: since, Revision: revision}
}

// wrote is an update that was answered with that revision.
func wrote(name string, revision object.Revision) client.Write {
	return client.Write{Verb: "update", Resource: maps, Namespace: "default", Name: name, Revision: revision,
		Status: 200}
}

// ran is a run that made these writes.
func ran(j *Journal, controller, name string, cause Cause, writes ...client.Write) (id string) {
	o := j.Begin(controller, mapOf(name), []Cause{cause}, 0)
	for _, w := range writes {
		o.Wrote(w)
	}
	return o.End(nil, 0)
}

// runsOf returns the runs of a report, one line each: the controller, and the controllers of the runs that
// caused it.
func runsOf(r *Report) []string {
	controllers := map[string]string{}
	var lines []string
	for _, run := range r.Runs {
		controllers[run.ID] = run.Controller
		var after []string
		for _, id := range run.After {
			after = append(after, controllers[id])
		}
		lines = append(lines, strings.TrimSpace(run.Controller+" "+strings.Join(after, ",")))
	}
	return lines
}

func TestReportFollowsTheChainInBothDirections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := New(withoutLog(Options{}))
		chain := func(k int, controller string, cause Cause, writes ...client.Write) {
			ran(j, controller, fmt.Sprint(k), cause, writes...)
			time.Sleep(time.Second)
		}
		chain(1, "first", change("a", 1, 2), wrote("b", 3), wrote("b", 4))
		chain(2, "other", change("x", 1, 9), wrote("y", 10))
		chain(3, "second", change("b", 2, 4), wrote("c", 5)) // it saw both writes as one change
		chain(4, "third", change("c", 4, 5))
		chain(5, "late", change("c", 5, 6)) // somebody else's
		want := []string{"first", "second first", "third second"}
		for _, name := range []string{"a", "b"} {
			if got := runsOf(j.Report(mapOf(name), 0)); !slices.Equal(got, want) {
				t.Errorf("about %s: %q, want %q", name, got, want)
			}
		}
		if got := runsOf(j.Report(mapOf("c"), 0)); !slices.Equal(got, append(want, "late")) {
			t.Errorf("about c: %q", got)
		}
		if got := runsOf(j.Report(mapOf("c"), 1)); !slices.Equal(got, []string{"late"}) {
			t.Errorf("the last about c: %q", got)
		}
		if got := runsOf(j.Report(Object{}, 0)); len(got) != 5 {
			t.Errorf("about everything: %q", got)
		}
		if got := runsOf(j.Report(mapOf("unheard"), 0)); len(got) != 0 {
			t.Errorf("unreconciled object: got %q", got)
		}
	})
}

func TestDeletionIsCausedByFinalizerRemoval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := New(withoutLog(Options{}))
		release := wrote("a", 5) // the last finalizer: the answer is the state before
		release.Deleting, release.UID = true, "u"
		ran(j, "early", "a", change("a", 3, 4), release)
		time.Sleep(time.Second)
		ran(j, "releaser", "a", change("a", 4, 5), release)
		time.Sleep(time.Second)
		ran(j, "mourner", "a", Cause{Kind: Changed, Change: Deleted, Object: mapOf("a"), UID: "u", Revision: 6})
		got := runsOf(j.Report(mapOf("a"), 0))
		if want := []string{"early", "releaser early", "mourner releaser"}; !slices.Equal(got[2:], want[2:]) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestRetryIsCausedByFailedRun(t *testing.T) {
	t.Parallel()
	j := New(withoutLog(Options{}))
	failed := j.Begin("c", mapOf("a"), []Cause{change("a", 1, 2)}, 0).End(errors.New("the\x1b[31m disk\nis full"), 0)
	retry := j.Begin("c", mapOf("a"), []Cause{{Kind: Retried, Run: failed, Err: "the disk is full"}}, 0)
	retry.Did("made it")
	retry.End(nil, time.Minute)
	runs := j.Report(mapOf("a"), 0).Runs
	if len(runs) != 2 || !slices.Equal(runs[1].After, []string{failed}) || runs[1].RequeueAfter != time.Minute {
		t.Fatalf("%+v", runs)
	}
	if runs[0].Err != `the\x1b[31m disk is full` {
		t.Errorf("got stored error %q", runs[0].Err)
	}
}

func TestIdleRunsAreMergedAndEvictNone(t *testing.T) {
	t.Parallel()
	j := New(withoutLog(Options{Runs: 40}))
	ran(j, "worker", "a", change("a", 1, 2), wrote("b", 3))
	for range 1000 {
		ran(j, "watcher", "a", Cause{Kind: Resynced, Object: mapOf("a"), Revision: 2})
	}
	for k := range 1000 {
		ran(j, "watcher", fmt.Sprint("other-", k), Cause{Kind: Started})
	}
	if got := runsOf(j.Report(mapOf("b"), 0)); !slices.Equal(got, []string{"worker"}) {
		t.Errorf("got acts %q", got)
	}
	ran(j, "watcher", "z", change("z", 1, 2))
	ran(j, "watcher", "z", change("z", 2, 3))
	runs := j.Report(mapOf("z"), 0).Runs
	if len(runs) != 1 || runs[0].Times != 2 || runs[0].Causes[0].Revision != 3 {
		t.Errorf("two quiet runs are %+v", runs)
	}
	ran(j, "watcher", "z", change("z", 3, 4), wrote("z", 5))
	ran(j, "watcher", "z", change("z", 4, 5))
	if runs := j.Report(mapOf("z"), 0).Runs; len(runs) != 3 || runs[2].Times != 1 {
		t.Errorf("a quiet run after one that wrote is %+v", runs)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	j := New(withoutLog(Options{Runs: 400, Bytes: 200 << 10, Each: 8}))
	for k := range 20_000 {
		name := fmt.Sprint("object-", k%3000)
		o := j.Begin(fmt.Sprint("controller-", k%7), mapOf(name),
			[]Cause{change(name, object.Revision(k), object.Revision(k+1))}, 0)
		for range k % 5 {
			o.Note("%s", strings.Repeat("word ", 300))
			o.Wrote(wrote(name, object.Revision(k+2)))
		}
		o.End(nil, 0)
	}
	if runs := j.did.entries.Len() + j.quiet.entries.Len(); runs > 400 || j.did.bytes+j.quiet.bytes > 200<<10 {
		t.Errorf("%d runs of %d bytes are retained", runs, j.did.bytes+j.quiet.bytes)
	}
	if len(j.ids) > 400 || len(j.subjects) > 400 || len(j.written.by) > 400 {
		t.Errorf("%d ids, %d subjects, %d written objects are known", len(j.ids), len(j.subjects), len(j.written.by))
	}
	for range 100 {
		ran(j, "busy", "one", change("one", 1, 2), wrote("two", 3))
	}
	if n := len(j.Report(mapOf("two"), 1000).Runs); n != 8 {
		t.Errorf("%d runs of one object are retained", n)
	}
}

// Every text that another process may send counts.
func TestRunSizeIncludesAllTexts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxName)
	o := Object{Group: long, Resource: long, Namespace: long, Name: long}
	w := Write{Verb: long, Subresource: long, UID: "u", Err: long, Object: o}
	r := Run{ID: long, Controller: long, Object: o, Err: long, Notes: []string{long}, Acts: []string{long},
		Writes: []Write{w, w},
		Causes: []Cause{{Object: o, UID: types.UID(long), By: long, Run: long, Err: long}}}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if texts := strings.Count(string(text), "x"); r.size() < texts {
		t.Errorf("a run with %d bytes of text counts as %d", texts, r.size())
	}
}

// A goroutine that Reconcile left behind may read them at any time.
func TestCausesAreImmutableAfterRun(t *testing.T) {
	t.Parallel()
	j := New(withoutLog(Options{}))
	for range 2 {
		o := j.Begin("c", mapOf("a"), []Cause{change("b", 1, 2), change("a", 1, 2)}, 0)
		var before []*byte
		for _, c := range o.Causes() {
			before = append(before, unsafe.StringData(c.Object.Name))
		}
		o.End(nil, 0)
		for k, c := range o.Causes() {
			if unsafe.StringData(c.Object.Name) != before[k] {
				t.Errorf("cause %d changed after the end of the run", k)
			}
		}
	}
}

func TestTextsAreTruncatedAndPrintable(t *testing.T) {
	t.Parallel()
	j := New(withoutLog(Options{}))
	o := j.Begin("c", mapOf("a"), []Cause{change("a", 1, 2)}, 0)
	for range 100 {
		o.Note("%s", strings.Repeat("é", 1000)+"\x1b]0;title\x07\u202e")
	}
	for range 100 {
		o.Wrote(wrote("b", 3))
	}
	o.End(nil, 0)
	o.Note("too late")
	o.Wrote(wrote("c", 4))
	run := j.Report(mapOf("a"), 0).Runs[0]
	if len(run.Notes) != maxNotes || len(run.Writes) != maxWrites || run.MoreWrites != 100-maxWrites {
		t.Errorf("%d notes, %d writes and %d more", len(run.Notes), len(run.Writes), run.MoreWrites)
	}
	d := Delivery{Runs: []Run{run}}
	if err := d.Check(time.Now()); err != nil {
		t.Errorf("a run of one process is rejected by another: %v", err)
	}
}
