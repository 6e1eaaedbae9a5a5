package main

import (
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// storedObject returns a state of an object as the server would store it.
func storedObject(name string, number int, revision uint64) *corev1.ConfigMap {
	o := objectOf(name, number)
	o.ResourceVersion = strconv.FormatUint(revision, 10)
	return o
}

// TestCrashChecksDetectWrongStates checks that the checks of the crash tests detect lost, partial and
// unexpected states.
func TestCrashChecksDetectWrongStates(t *testing.T) {
	t.Parallel()
	half, other := storedObject("a", 2, 12), storedObject("a", 2, 12)
	half.Data["text"] += "a"
	other.Labels["number"] = "1"
	three, gone := 3, 0
	for name, c := range map[string]struct {
		found   *corev1.ConfigMap
		pending *int
		right   bool
	}{
		"as acknowledged":                  {storedObject("a", 2, 12), nil, true},
		"lost":                             {nil, nil, false},
		"an older state":                   {storedObject("a", 1, 11), nil, false},
		"another revision":                 {storedObject("a", 2, 13), nil, false},
		"half there":                       {half, nil, false},
		"a part of another state":          {other, nil, false},
		"never requested":                  {storedObject("a", 3, 13), nil, false},
		"unanswered and done":              {storedObject("a", 3, 13), &three, true},
		"unanswered and not done":          {storedObject("a", 2, 12), &three, true},
		"unanswered, at an old revision":   {storedObject("a", 3, 12), &three, false},
		"unanswered change, but deleted":   {nil, &three, false},
		"unanswered deletion, deleted":     {nil, &gone, true},
		"unanswered deletion, but changed": {storedObject("a", 3, 13), &gone, false},
	} {
		s := &slot{name: "a", history: []int{1, 2}, revision: 12, pending: c.pending}
		if _, _, err := s.reconcile(c.found); (err == nil) != c.right {
			t.Errorf("%s: got error %v, want success: %t", name, err, c.right)
		}
	}
	for name, events := range map[string][]watch.Event{
		"all, in order": {{Type: watch.Added, Object: storedObject("a", 1, 11)},
			{Type: watch.Modified, Object: storedObject("a", 2, 12)}},
		"one is lost": {{Type: watch.Added, Object: storedObject("a", 2, 12)}},
		"one is duplicated": {{Type: watch.Added, Object: storedObject("a", 1, 11)},
			{Type: watch.Added, Object: storedObject("a", 1, 11)}},
		"one goes backwards": {{Type: watch.Added, Object: storedObject("a", 2, 12)},
			{Type: watch.Modified, Object: storedObject("a", 1, 11)}},
		"none": {},
		"of a wrong type": {{Type: watch.Modified, Object: storedObject("a", 1, 11)},
			{Type: watch.Modified, Object: storedObject("a", 2, 12)}},
		"a wrong deletion": {{Type: watch.Added, Object: storedObject("a", 1, 11)},
			{Type: watch.Deleted, Object: storedObject("a", 2, 12)}},
	} {
		w := &watcher{revision: 10, seen: map[string][]int{}}
		var err error
		for _, e := range events {
			if err == nil {
				err = w.check(e)
			}
		}
		if err == nil {
			err = w.compare([]*slot{{name: "a", history: []int{1, 2}}})
		}
		if (err == nil) != (name == "all, in order") {
			t.Errorf("events, %s: got error %v", name, err)
		}
	}
}
