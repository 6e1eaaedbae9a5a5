// Package capacity finds how much memory the process may use, and how much of it is in use. Package bowline derives
// the sizes of a plane from it, bowline up sets Go's memory limit, and the server rejects requests while memory is
// short. It sets no limit itself.
package capacity

import (
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Memory returns how many bytes the process may use: the least of the machine's memory, the limits of its cgroups, its
// limits of address space and data (ulimit -v and -d), and Go's memory limit (GOMEMLIMIT). All but the last are read
// once for the life of the process. If nothing is known, it returns math.MaxInt64.
func Memory() int64 { return min(external(), limit()) }

// limit returns Go's memory limit.
func limit() int64 { return debug.SetMemoryLimit(-1) }

// external returns the limits from outside the process. They are read at the first call.
var external = sync.OnceValue(func() int64 {
	least := int64(math.MaxInt64)
	for _, source := range []memlimit.Provider{memlimit.FromSystem, memlimit.FromCgroup} {
		if bytes, err := source(); err == nil && bytes > 0 && bytes < math.MaxInt64 {
			least = min(least, int64(bytes))
		}
	}
	return min(least, ofProcess())
})

// GoLimit returns the value for Go's memory limit that leaves room for what Go does not count, such as the pages of
// its own program: nine tenths of Memory.
func GoLimit() int64 {
	if m := Memory(); m < math.MaxInt64 {
		return m / 10 * 9
	}
	return math.MaxInt64
}

// Level is how much of Go's memory limit is in use after a garbage collection.
type Level int

const (
	// Enough is less than three quarters, or that no limit is set.
	Enough Level = iota
	// Short is three quarters or more: nothing should be added that stays.
	Short
	// Critical is nine tenths or more: nothing should be done that needs memory.
	Critical
)

func (l Level) String() string { return [...]string{"enough", "short", "critical"}[l] }

// levelOf returns the level of used bytes under a limit.
func levelOf(used, limit int64) Level {
	switch {
	case limit == math.MaxInt64 || used < limit/4*3:
		return Enough
	case used < limit/10*9:
		return Short
	}
	return Critical
}

// Gauge measures the level. The zero value is ready to use. It is safe for concurrent use and costs a load of an
// atomic in most calls.
type Gauge struct {
	// next is when to measure again, in nanoseconds since 1970.
	next  atomic.Int64
	level atomic.Int32
}

// interval is how long a measurement is valid.
const interval = 10 * time.Millisecond

// Level returns the level, which was measured at most 10 ms before.
func (g *Gauge) Level() Level {
	now, next := time.Now().UnixNano(), g.next.Load()
	if now >= next && g.next.CompareAndSwap(next, now+int64(interval)) {
		g.level.Store(int32(levelOf(Used(), limit())))
	}
	return Level(g.level.Load())
}

// Used returns the bytes that cannot be freed: those of the objects that the last garbage collection found live, and
// of stacks.
func Used() int64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() + samples[1].Value.Uint64())
}
