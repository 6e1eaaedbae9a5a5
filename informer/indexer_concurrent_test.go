package informer

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Readers see whole states while a writer changes them: what an index finds has the value, an object that never goes is
// there each time, and a list holds each object once. Indexes are added meanwhile. With -race it shows that nothing is
// torn.
func TestConcurrentReadersSeeConsistentStates(t *testing.T) {
	t.Parallel()
	const objects, changes = 50, 3_000
	x := newIndexer(map[string]IndexFunc[*corev1.ConfigMap]{"values": valuesOf}, quietly())
	put := func(n, revision int) {
		x.change(func() { x.put(valued(fmt.Sprint("a", n), revision, strconv.Itoa(revision%7), strconv.Itoa(n%7))) })
	}
	for n := range objects {
		put(n, 1)
	}
	done := make(chan struct{})
	var reading sync.WaitGroup
	for range 4 {
		reading.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				checkWhole(t, x, strconv.Itoa(n%7), objects)
			}
		})
	}
	for revision := range changes {
		put(revision%objects, revision+2)
		short := valued(fmt.Sprint("b", revision%3), revision+2, "short")
		if x.change(func() { x.put(short) }); revision%2 == 0 {
			x.change(func() { x.remove(short) })
		}
		if revision%500 == 0 {
			x.AddIndex(fmt.Sprint("late ", revision), valuesOf)
		}
	}
	close(done)
	reading.Wait()
}

// checkWhole reads in every way that there is.
func checkWhole(t *testing.T, x *Indexer[*corev1.ConfigMap], value string, objects int) {
	found, err := x.ByIndex("values", value)
	if err != nil {
		t.Error(err)
	}
	for _, obj := range found {
		if !slices.Contains(valuesOf(obj), value) {
			t.Errorf("under %s there is %v", value, valuesOf(obj))
		}
	}
	if n := len(x.InNamespace("ns-a")); n != objects {
		t.Errorf("%d objects are in the namespace", n)
	}
	seen := map[string]bool{}
	for obj := range x.All() {
		if seen[obj.Name] {
			t.Errorf("%s is listed twice", obj.Name)
		}
		seen[obj.Name] = true
	}
	for n := range objects {
		name := fmt.Sprint("a", n)
		if _, ok := x.Get(Key{Namespace: "ns-a", Name: name}); !ok || !seen[name] {
			t.Errorf("%s is missing: found %t, listed %t", name, ok, seen[name])
		}
	}
}
