package serve

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/bowline-dev/bowline/internal/capacity"
)

// PauseGC disables garbage collection until LimitGarbage is called, unless GOGC is set. Nearly all data that
// the server reads from disk at startup stays in memory, and marking the growing heap would be a quarter of
// the work.
func PauseGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(-1)
	}
}

// LimitMemory sets Go's memory limit to the memory that the machine, the cgroup and the limits of the process leave for
// it, unless GOMEMLIMIT is set. Go then collects garbage more often rather than let the kernel end the process, and the
// server rejects requests while the memory is short.
func LimitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(capacity.GoLimit())
	}
}

// LimitGarbage limits garbage to less than the runtime's default of 100 percent of the live heap, except in small
// heaps, unless GOGC is set. Live data is mostly stored objects. With more of them, collections become rarer and more
// garbage accumulates between them, so the percentage shrinks as the heap grows.
func LimitGarbage() {
	if os.Getenv("GOGC") == "" {
		adjustGC(0)
	}
}

// ReleaseMemory collects the garbage of the start and returns its memory to the system, after the first second in which
// the server allocates next to nothing. Otherwise an idle server would keep it for minutes, because LimitGarbage lets a
// small heap grow.
func ReleaseMemory(ctx context.Context) {
	const quiet = 1 << 20
	seconds := time.NewTicker(time.Second)
	defer seconds.Stop()
	for before := allocated(); ; {
		select {
		case <-seconds.C:
		case <-ctx.Done():
			return
		}
		now := allocated()
		if now-before < quiet {
			runtime.GC() // sync.Pools keep what they hold for one collection
			debug.FreeOSMemory()
			return
		}
		before = now
	}
}

// allocated returns how many bytes this process has allocated in total.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// adjustGC sets the GC percentage for the current live heap, and schedules itself to run after the next
// collection, when the live heap has been measured again.
func adjustGC(before int) {
	live := gcBase()
	percent := min(garbagePercent(live), percentWithin(live, debug.SetMemoryLimit(-1)))
	if percent != before {
		debug.SetGCPercent(percent)
	}
	runtime.AddCleanup(new(gcSentinel), adjustGC, percent)
}

// gcSentinel is allocated without references, so that the next collection runs its cleanup.
type gcSentinel struct{ _ *gcSentinel }

// gcBase returns the number of bytes to which the GC percentage applies: the live heap, the stacks and the global
// variables at the last collection.
func gcBase() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"},
		{Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	total := uint64(0)
	for _, s := range samples {
		total += s.Value.Uint64()
	}
	return total
}

// minGarbage is the number of bytes of garbage that accumulate before a collection of a small heap. Otherwise a
// request that allocates much memory causes a collection every few megabytes, which delays the requests of other
// clients.
const minGarbage = 48 << 20

// garbagePercent returns the GC percentage for a heap with live bytes: that of minGarbage in a small heap. For 100,000
// objects of 1 KiB, 70 percent needs a sixth less memory than 100 percent; for a million objects, 55 percent needs a
// tenth less than 70 percent. The GC cost per create does not grow with the heap; it only grows as the percentage
// shrinks (measured in bench/ with go run . -row '00,000|1 M', with GOGC=100, GOGC=70, and without GOGC).
func garbagePercent(live uint64) int {
	switch {
	case live < minGarbage*100/70:
		return int(min(maxPercent, minGarbage*100/max(live, 1)))
	case live < 512<<20:
		return 70
	case live < 2<<30:
		return 55
	}
	return 40
}

// minPercent is the minimum GC percentage. Collections become frequent when it is reached, and the server rejects
// requests that add to the heap.
const minPercent = 10

// maxPercent is the maximum GC percentage: that at which the heap has minGarbage before the first collection. The
// runtime starts it at 4 MiB times the percentage.
const maxPercent = 100 * minGarbage / (4 << 20)

// percentWithin returns the GC percentage at which the next collection starts when half of the memory between live
// bytes and a limit is used. So the live heap is measured again before it can reach the limit, however fast it grows.
func percentWithin(live uint64, limit int64) int {
	if live == 0 || limit <= 0 {
		return maxPercent
	}
	left := limit - int64(min(live, uint64(limit)))
	return max(minPercent, int(min(maxPercent, float64(left)*50/float64(live))))
}
