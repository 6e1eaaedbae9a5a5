package why

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/object"
)

// on records a run of a controller for the ConfigMap a of a server. Its cause is the change from revision
// since to the next one, and it writes the following revision if writes is set.
func on(j *Journal, server types.UID, controller string, since object.Revision, writes bool) {
	cause := change("a", since, since+1)
	cause.UID = server
	o := j.Begin(controller, mapOf("a"), []Cause{cause}, 0)
	if writes {
		w := wrote("a", since+2)
		w.UID = server
		o.Wrote(w)
	}
	o.End(nil, 0)
	time.Sleep(time.Second)
}

// Two servers have objects with the same resource, name and revision. They are told apart by their UIDs, since each
// process has its own name for a server.
func TestObjectsOfTwoServersAreSeparate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := New(withoutLog(Options{}))
		on(j, "here", "first", 1, true)
		on(j, "there", "alien", 2, false)
		on(j, "here", "second", 2, false)
		want := []string{"first", "alien", "second first"}
		if got := runsOf(j.Report(mapOf("a"), 0)); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestControllersOfTwoServersAreNotALoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := New(withoutLog(Options{}))
		for k := range object.Revision(100) { // as if each had seen what the other wrote
			on(j, "here", "left", 2*k, true)
			on(j, "there", "right", 2*k+1, true)
		}
		if got := loops(j, Object{}); len(got) > 0 {
			t.Errorf("they are reported as a loop: %q", got)
		}
	})
}

// Who hands something on from server to server comes by objects of one name, each of which it did not make.
func TestCopyingBetweenServersIsNotALoop(t *testing.T) {
	t.Parallel()
	j := New(withoutLog(Options{}))
	for k := range 200 {
		revision := object.Revision(k + 1)
		trigger := change("b", revision-1, revision)
		trigger.UID = types.UID(fmt.Sprint("b-", k))
		next := wrote("b", revision+1)
		next.UID = types.UID(fmt.Sprint("b-", k+1))
		o := j.Begin("c", mapOf("a"),
			[]Cause{trigger, {Kind: Resynced, Object: mapOf("a"), UID: types.UID(fmt.Sprint("a-", k))}}, 0)
		o.Wrote(next)
		o.End(nil, 0)
	}
	if got := loops(j, Object{}); len(got) > 0 {
		t.Errorf("it is reported as a loop: %q", got)
	}
}

// The answer that one server gives is not what the controller knew before of another.
func TestWriteToOtherServerIsNotNoOp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := New(withoutLog(Options{}))
		on(j, "here", "c", 1, true)
		on(j, "there", "c", 1, true)
		for _, run := range j.Report(mapOf("a"), 0).Runs {
			if run.Writes[0].Unchanged {
				t.Errorf("a write is marked as unchanged: %+v", run)
			}
		}
	})
}

func TestIdleRunsAreMergedPerServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := New(withoutLog(Options{}))
		for k := range object.Revision(10) {
			on(j, "here", "c", k, false)
			on(j, "there", "c", k, false)
		}
		for _, run := range j.Report(mapOf("a"), 0).Runs {
			if run.Times != 10 {
				t.Errorf("%d runs are one, want 10: %+v", run.Times, run)
			}
		}
	})
}

// Of too many runs on one name the oldest goes, and not the one that came once more just now.
func TestMergedRunIsTheNewest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		local := New(withoutLog(Options{Each: 2}))
		remote := New(withoutLog(Options{Each: 2})) // which has them forwarded
		local.Forward(func(r Run) { remote.Take([]Run{r}) })
		on(local, "here", "c", 1, false)
		on(local, "there", "c", 1, false)
		on(local, "here", "c", 2, false)
		on(local, "yonder", "c", 1, false)
		for _, j := range []*Journal{local, remote} {
			var left []string
			for _, run := range j.Report(mapOf("a"), 0).Runs {
				left = append(left, fmt.Sprint(run.uid(), " ", run.Times))
			}
			if want := []string{"here 2", "yonder 1"}; !slices.Equal(left, want) {
				t.Errorf("%q, want %q", left, want)
			}
		}
	})
}
