package store_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// payload yields an encoding as large as that of a ConfigMap with one KiB of data.
var payload = strings.Repeat("x", 1280)

func open(b *testing.B) *store.Store {
	b.Helper()
	s, err := store.New(b.Context(), memory.New(), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

func name(i int) string { return fmt.Sprintf("object-%07d", i) }

// fill creates n objects.
func fill(b *testing.B, s *store.Store, n int) {
	b.Helper()
	for i := range n {
		mustCommit(b, s, put(name(i), payload, store.Absent()))
	}
}

func mustCommit(b *testing.B, s *store.Store, changes ...store.Change) {
	if _, err := s.Commit(b.Context(), changes...); err != nil {
		b.Error(err)
	}
}

// batch is the number of objects that a benchmark creates ahead while its timer is stopped.
const batch = 10_000

func BenchmarkCreate(b *testing.B) {
	s := open(b)
	b.ReportAllocs()
	var changes []store.Change
	for i := range b.N {
		if i%batch == 0 {
			b.StopTimer()
			changes = makeChanges(i, min(batch, b.N-i))
			b.StartTimer()
		}
		mustCommit(b, s, changes[i%batch])
	}
	perSecond(b, b.N)
}

func makeChanges(from, n int) []store.Change {
	changes := make([]store.Change, n)
	for i := range changes {
		changes[i] = put(name(from+i), payload, store.Absent())
	}
	return changes
}

func perSecond(b *testing.B, n int) { b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "ops/s") }

// BenchmarkCreateParallel runs 8 writers per processor. It includes creating the objects, which are small
// here.
func BenchmarkCreateParallel(b *testing.B) {
	s := open(b)
	b.SetParallelism(8)
	var next atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			mustCommit(b, s, put(name(int(next.Add(1))), "", store.Absent()))
		}
	})
	perSecond(b, b.N)
}

// BenchmarkUpdateWithSnapshots takes a snapshot before each update, so that every update copies its path in
// the tree.
func BenchmarkUpdateWithSnapshots(b *testing.B) {
	s := open(b)
	fill(b, s, 10_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := s.Snapshot(b.Context(), store.Latest()); err != nil {
			b.Fatal(err)
		}
		mustCommit(b, s, put(name(i*7919%10_000), payload, store.Anything()))
	}
}

func BenchmarkGet(b *testing.B) {
	s := open(b)
	fill(b, s, 100_000)
	b.Run("one key", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for key := storetest.Key(name(77)); pb.Next(); {
				s.Get(key)
			}
		})
	})
	b.Run("all keys", func(b *testing.B) {
		keys := make([]object.Key, 100_000)
		for i := range keys {
			keys[i] = storetest.Key(name(i * 7919 % len(keys)))
		}
		b.ReportAllocs()
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				s.Get(keys[i%len(keys)])
			}
		})
	})
}

func BenchmarkSnapshotAndScan10000(b *testing.B) {
	s := open(b)
	fill(b, s, 10_000)
	prefix := object.Prefix(configMaps, "")
	for b.Loop() {
		state, err := s.Snapshot(b.Context(), store.Latest())
		if err != nil {
			b.Fatal(err)
		}
		bytes := 0
		state.Scan(prefix, "", func(o *object.Object) bool {
			bytes += o.Size()
			return true
		})
	}
}

func BenchmarkLen(b *testing.B) {
	s := open(b)
	fill(b, s, 100_000)
	state, err := s.Snapshot(b.Context(), store.Latest())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		state.Len(object.Prefix(configMaps, "default"), "")
	}
}

// BenchmarkWatchers1000Updates500 delivers 500 updates to each of 1,000 watchers of one resource per
// iteration. The watchers compete with the committing writer for the processors.
func BenchmarkWatchers1000Updates500(b *testing.B) {
	const watchers, updates = 1000, 500
	s := open(b)
	fill(b, s, 1)
	var takes atomic.Int64
	for b.Loop() {
		var group sync.WaitGroup
		for range watchers {
			w, err := s.Watch(object.Prefix(configMaps, ""), s.Current())
			if err != nil {
				b.Fatal(err)
			}
			group.Go(func() { takes.Add(drain(b, w, updates)) })
		}
		for range updates {
			mustCommit(b, s, put(name(0), payload, store.Anything()))
		}
		group.Wait()
	}
	events := float64(b.N * watchers * updates)
	b.ReportMetric(events/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(events/float64(takes.Load()), "events/take")
}

// drain takes n events as they arrive and returns the number of calls of Take.
func drain(b *testing.B, w *store.Watch, n int) (takes int64) {
	defer w.Stop()
	for n > 0 {
		<-w.Changed()
		events, err := w.Take(100)
		if err != nil {
			b.Error(err)
			return takes
		}
		n -= len(events)
		takes++
	}
	return takes
}

// BenchmarkMemory100000 reports the memory of 100,000 objects, in total and in excess of their encodings.
func BenchmarkMemory100000(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		before := heap()
		s, err := store.New(b.Context(), memory.New(), store.Options{})
		if err != nil {
			b.Fatal(err)
		}
		bytes := 0
		for i := range n {
			change := put(name(i), payload, store.Absent())
			bytes += len(change.Object.Stored().Bytes())
			mustCommit(b, s, change)
		}
		live := heap() - before
		b.ReportMetric(float64(live)/(1<<20), "MiB")
		b.ReportMetric(float64(bytes)/n, "body-B/object")
		b.ReportMetric(float64(live-bytes)/n, "extra-B/object")
		s.Close()
	}
}

// heap returns the size of the reachable heap.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
