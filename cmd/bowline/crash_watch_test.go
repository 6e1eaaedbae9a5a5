package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// watcher watches the ConfigMaps of a namespace across crashes. Each watch resumes at the last revision
// observed by the previous one.
type watcher struct {
	revision uint64
	seen     map[string][]int // observed states of each object in order, 0 for a deletion
	events   int
	resumed  int
}

// follow reads events until the watch ends or done returns true, because all expected events have arrived or
// the server was killed.
func (w *watcher) follow(ctx context.Context, maps typedcorev1.ConfigMapInterface, done func() bool) error {
	stream, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: strconv.FormatUint(w.revision, 10)})
	if err != nil {
		if done() {
			return nil
		}
		return fmt.Errorf("watch from revision %d: %w", w.revision, err)
	}
	defer stream.Stop()
	w.resumed++
	for !done() {
		e, open := <-stream.ResultChan()
		if !open || done() && brokenOff(e) {
			return nil
		}
		if err := w.check(e); err != nil {
			return err
		}
	}
	return nil
}

// brokenOff reports whether client-go created the event because the connection broke in the middle of an
// event.
func brokenOff(e watch.Event) bool {
	err := apierrors.FromObject(e.Object)
	return e.Type == watch.Error && apierrors.HasStatusCause(err, "ClientWatchDecoding")
}

// check compares an event with the previous ones.
func (w *watcher) check(e watch.Event) error {
	o, ok := e.Object.(*corev1.ConfigMap)
	if !ok {
		return fmt.Errorf("watch from revision %d: got event %s %v, want a ConfigMap", w.revision, e.Type, e.Object)
	}
	revision, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
	if err != nil || revision <= w.revision {
		return fmt.Errorf("event %s %s: got revision %q, want one after %d", e.Type, o.Name, o.ResourceVersion,
			w.revision)
	}
	number, err := numberOf(o)
	if err != nil {
		return fmt.Errorf("event %s: %w", e.Type, err)
	}
	seen := w.seen[o.Name]
	exists := len(seen) > 0 && seen[len(seen)-1] != 0
	if exists != (e.Type != watch.Added) {
		return fmt.Errorf("event %s %s: got it after the states %v", e.Type, o.Name, seen)
	}
	if e.Type == watch.Deleted {
		if last := seen[len(seen)-1]; number != last {
			return fmt.Errorf("event DELETED %s: got state %d, want %d", o.Name, number, last)
		}
		number = 0
	}
	w.revision, w.events = revision, w.events+1
	w.seen[o.Name] = append(seen, number)
	return nil
}

// compare returns an error if the observed events differ from the history.
func (w *watcher) compare(slots []*slot) error {
	for _, s := range slots {
		if seen := w.seen[s.name]; !slices.Equal(seen, s.history) {
			at := 0
			for at < min(len(seen), len(s.history)) && seen[at] == s.history[at] {
				at++
			}
			return fmt.Errorf("%s: from event %d on, got states %v, want %v", s.name, at, seen[at:], s.history[at:])
		}
	}
	return nil
}
