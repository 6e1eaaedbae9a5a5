package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/why"
	"github.com/bowline-dev/bowline/workqueue"
)

var mapResource = schema.GroupResource{Resource: "configmaps"}

// state returns a state of a ConfigMap, written by managers in order.
func state(name, revision string, managers ...string) *corev1.ConfigMap {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name),
		ResourceVersion: revision}}
	for k, m := range managers {
		obj.ManagedFields = append(obj.ManagedFields,
			metav1.ManagedFieldsEntry{Manager: m, Time: &metav1.Time{Time: time.Unix(int64(k), 0)}})
	}
	return obj
}

// texts returns the causes of the next run of a request.
func (i *inbox) texts(request Request) (texts []string, more int) {
	known := i.take(request)
	for _, c := range known.list {
		texts = append(texts, c.String())
	}
	return texts, known.more
}

func TestCausesAreMerged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		causes []why.Cause
		want   []string
	}{
		"changes of one object are one": {
			[]why.Cause{
				updateOf(mapResource, state("a", "1", "x"), state("a", "2", "x", "y")),
				updateOf(mapResource, state("a", "2", "x"), state("a", "5", "x", "y")),
			},
			[]string{"configmaps/ns/a was updated by y (revision 5)"},
		},
		"of two authors none is named": {
			[]why.Cause{
				updateOf(mapResource, state("a", "1"), state("a", "2", "x")),
				updateOf(mapResource, state("a", "2"), state("a", "3", "y")),
			},
			[]string{"configmaps/ns/a was updated (revision 3)"},
		},
		"what is new stays so when it changes": {
			[]why.Cause{additionOf(mapResource, state("a", "1", "x")),
				updateOf(mapResource, state("a", "1", "x"), state("a", "2", "x"))},
			[]string{"configmaps/ns/a was added (revision 2)"},
		},
		"a deletion is not hidden by what has the name next": {
			[]why.Cause{deletionOf(mapResource, state("a", "2")), additionOf(mapResource, state("a", "3"))},
			[]string{"configmaps/ns/a was deleted (revision 2)", "configmaps/ns/a was added (revision 3)"},
		},
		"other objects and other kinds of causes are others": {
			[]why.Cause{
				about(why.Started, mapResource, state("a", "1")), {Kind: why.Triggered},
				about(why.Resynced, mapResource, state("b", "1")),
				{Kind: why.Triggered}, {Kind: why.Retried, Err: "no"},
			},
			[]string{
				"configmaps/ns/a existed at the start (revision 1)",
				"a source outside the API requested it (trigger)",
				"configmaps/ns/b was reconciled again (resync)", "the previous run failed: no",
			},
		},
		"the same state again is a resync": {
			[]why.Cause{updateOf(mapResource, state("a", "1"), state("a", "1"))},
			[]string{"configmaps/ns/a was reconciled again (resync)"},
		},
	} {
		in := newInbox(workqueue.New[Request](nil))
		for _, cause := range c.causes {
			in.add(a, cause)
		}
		if got, more := in.texts(a); !slices.Equal(got, c.want) || more != 0 {
			t.Errorf("%s: got causes %q and %d more, want %q", name, got, more, c.want)
		}
		if len(in.waiting) != 0 {
			t.Errorf("%s: causes of %d requests are retained when none waits", name, len(in.waiting))
		}
	}
}

func TestCausesOfARequestAreBounded(t *testing.T) {
	t.Parallel()
	in := newInbox(workqueue.New[Request](nil))
	for k := range 1000 {
		in.add(a, additionOf(mapResource, state(fmt.Sprint(k), "7")))
	}
	if got, more := in.texts(a); len(got) != why.MaxCauses || more != 1000-why.MaxCauses {
		t.Errorf("got %d causes and %d more", len(got), more)
	}
}

func TestWriterOfChange(t *testing.T) {
	t.Parallel()
	entry := func(manager string, second int64, fields string) metav1.ManagedFieldsEntry {
		e := metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: metav1.NewFieldsV1(fields)}
		if second > 0 {
			e.Time = &metav1.Time{Time: time.Unix(second, 0)}
		}
		return e
	}
	type entries = []metav1.ManagedFieldsEntry
	scaled := entry("scaler", 0, "replicas") // a write of a scale has no time
	for name, c := range map[string]struct {
		before, after entries
		want          string
	}{
		"create": {nil, entries{entry("a", 1, "x")}, "a"},
		"another manager": {entries{entry("a", 1, "x")},
			entries{entry("a", 1, "x"), entry("b", 2, "y")}, "b"},
		"a manager takes a field from a later one": {entries{entry("a", 1, "x"), entry("b", 2, "y z")},
			entries{entry("a", 3, "x z"), entry("b", 2, "y")}, "a"},
		"twice in a second": {entries{entry("a", 1, "x")}, entries{entry("a", 1, "x y")}, "a"},
		"a scale takes replicas": {entries{entry("a", 1, "x replicas")},
			entries{entry("a", 1, "x"), scaled}, "scaler"},
		"first seen after a scale":      {nil, entries{scaled, entry("a", 1, "x")}, "a"},
		"no entry changed":              {entries{scaled}, entries{scaled}, ""},
		"a client without a user agent": {nil, entries{entry("unknown", 1, "x")}, ""},
	} {
		if got := writerOf(c.before, c.after); got != c.want {
			t.Errorf("%s: writerOf = %q, want %q", name, got, c.want)
		}
	}
}

func TestDeletionHasTwoCauses(t *testing.T) {
	t.Parallel()
	ending := state("a", "2", "kubectl")
	ending.DeletionTimestamp = &metav1.Time{Time: time.Unix(9, 0)}
	if got := updateOf(mapResource, state("a", "1", "kubectl"),
		ending).String(); got != "configmaps/ns/a is being deleted (revision 2)" {
		t.Error(got)
	}
	after := ending.DeepCopy()
	after.ResourceVersion = "3"
	if got := updateOf(mapResource, ending, after).String(); got != "configmaps/ns/a was updated (revision 3)" {
		t.Error(got)
	}
}

// A timer is not a cause of runs before it fires, and still fires after them.
func TestTimerIsCauseWhenItFires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := newInbox(workqueue.New[Request](nil))
		in.noteAfter(a, time.Minute, why.Cause{Kind: why.Timed})
		in.noteAfter(a, time.Hour, why.Cause{Kind: why.Timed})
		in.add(a, why.Cause{Kind: why.Triggered})
		if got, _ := in.texts(a); !slices.Equal(got, []string{"a source outside the API requested it (trigger)"}) {
			t.Errorf("before the timer: got causes %q", got)
		}
		time.Sleep(time.Minute)
		if got, _ := in.texts(a); !slices.Equal(got, []string{"the previous run requested it (timer)"}) {
			t.Errorf("when the timer fires: got causes %q", got)
		}
		if got, _ := in.texts(a); got != nil || len(in.waiting) != 0 {
			t.Errorf("afterwards: got causes %q, and those of %d requests are retained", got, len(in.waiting))
		}
		in.queue.ShutDown()
	})
}

// A queue has one delay per request, the earliest. A run before that time has its own causes and not the timer's; the
// run at that time has the timer's cause, and not that the request was repeated.
func TestEarlierRequeueReplacesTimer(t *testing.T) {
	t.Parallel()
	var reconciled []string
	f := func(ctx context.Context, _ Request) (Result, error) {
		r := runOf(ctx)
		reconciled = append(reconciled, strings.Replace(r.because(), "a source outside the API requested it (trigger)",
			"trigger", 1))
		if len(reconciled) == 2 {
			return Result{}, errors.New("no")
		}
		return Result{RequeueAfter: 10 * time.Minute}, nil
	}
	if err := worked(t, Options{}, f, func(_ *Controller, h *Trigger, _ *logged) {
		h.Add(a)
		pass(time.Minute)
		h.Add(a) // fails, and is tried again at once, which asks for 11:01
		pass(9*time.Minute + 30*time.Second)
		h.Add(a) // at 10:30, when the first timer would be over
		pass(time.Minute)
		h.AddAfter(a, 5*time.Minute) // brings forward what 11:01 asked for, 21:01, to 16:30
		pass(13 * time.Minute)
		h.Add(a) // at 24:30
		pass(3 * time.Minute)
	}); err != nil {
		t.Error(err)
	}
	const timer = "the previous run requested it (timer)"
	want := []string{"trigger", "trigger", "the previous run failed: no", "trigger", timer, timer + "; trigger",
		"trigger", timer}
	if !slices.Equal(reconciled, want) {
		t.Errorf("got causes\n%q, want\n%q", reconciled, want)
	}
}
