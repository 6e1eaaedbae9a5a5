package store_test

import (
	"sync"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// BenchmarkCommit16Writers commits prepared objects of one KiB with 16 concurrent writers.
func BenchmarkCommit16Writers(b *testing.B) {
	const writers = 16
	s := open(b)
	b.ReportAllocs()
	for from := 0; from < b.N; from += batch {
		b.StopTimer()
		changes := makeChanges(from, min(batch, b.N-from))
		b.StartTimer()
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for i := w; i < len(changes); i += writers {
					mustCommit(b, s, changes[i])
				}
			})
		}
		group.Wait()
	}
	perSecond(b, b.N)
}

// BenchmarkExactly lists 500 of 100,000 objects in a state that 100,000 later updates have replaced.
func BenchmarkExactly(b *testing.B) {
	const n, page = 100_000, 500
	s := open(b)
	fill(b, s, n)
	before := s.Current()
	for i := range n {
		mustCommit(b, s, put(name(i*7919%n), payload, store.Anything()))
	}
	b.ReportAllocs()
	for b.Loop() {
		state, err := s.Snapshot(b.Context(), store.Exactly(before))
		if err != nil {
			b.Fatal(err)
		}
		left := page
		state.Scan(object.Prefix(configMaps, ""), storetest.Key(name(n/2)), func(o *object.Object) bool {
			if o.Revision > before {
				b.Fatal("an object of a later revision is in the older state")
			}
			left--
			return left > 0
		})
	}
}
