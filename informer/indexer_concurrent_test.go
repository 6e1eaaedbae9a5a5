package informer

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Readers are consistent while a writer changes objects and indexes are added: an object under an index value has the
// value, an object that is never deleted is always found, and a list has each object once. With -race, the test detects
// data races.
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
				checkReads(t, x, strconv.Itoa(n%7), objects)
			}
		})
	}
	for revision := range changes {
		put(revision%objects, revision+2)
		temporary := valued(fmt.Sprint("b", revision%3), revision+2, "short")
		if x.change(func() { x.put(temporary) }); revision%2 == 0 {
			x.change(func() { x.remove(temporary) })
		}
		if revision%500 == 0 {
			x.AddIndex(fmt.Sprint("late ", revision), valuesOf)
		}
	}
	close(done)
	reading.Wait()
}

// checkReads calls all methods that read.
func checkReads(t *testing.T, x *Indexer[*corev1.ConfigMap], value string, objects int) {
	found, err := x.ByIndex("values", value)
	if err != nil {
		t.Error(err)
	}
	for _, obj := range found {
		if !slices.Contains(valuesOf(obj), value) {
			t.Errorf("got an object with the values %v under %s", valuesOf(obj), value)
		}
	}
	if n := len(x.InNamespace("ns-a")); n != objects {
		t.Errorf("got %d objects in the namespace", n)
	}
	listed := map[string]bool{}
	for obj := range x.All() {
		if listed[obj.Name] {
			t.Errorf("%s is listed twice", obj.Name)
		}
		listed[obj.Name] = true
	}
	for n := range objects {
		name := fmt.Sprint("a", n)
		if _, ok := x.Get(Key{Namespace: "ns-a", Name: name}); !ok || !listed[name] {
			t.Errorf("%s is missing: found %t, listed %t", name, ok, listed[name])
		}
	}
}
