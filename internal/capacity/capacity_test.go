package capacity

import (
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

func TestLevelOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		used, limit int64
		want        Level
	}{
		{1 << 40, math.MaxInt64, Enough}, {0, 100, Enough}, {74, 100, Enough}, {75, 100, Short}, {89, 100, Short},
		{90, 100, Critical}, {200, 100, Critical},
	} {
		if got := levelOf(c.used, c.limit); got != c.want {
			t.Errorf("%d of %d bytes: got %v, want %v", c.used, c.limit, got, c.want)
		}
	}
}

// printMemory makes the test program print what it may use, and end.
const printMemory = "BOWLINE_PRINT_MEMORY"

func TestMain(m *testing.M) {
	if os.Getenv(printMemory) != "" {
		os.Stdout.WriteString(strconv.FormatInt(Memory(), 10))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestMemoryFollowsLimits starts processes with limits of the shell.
func TestMemoryFollowsLimits(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const mib = 1 << 20
	for _, c := range []struct {
		limits   string
		min, max int64
	}{
		{"true", 256 * mib, math.MaxInt64 - 1},
		{"ulimit -v 3000000", 300 * mib, 2000 * mib},
		{"ulimit -d 1000000", 800 * mib, 1000000*1024 - mib},
		{"export GOMEMLIMIT=300MiB", 300 * mib, 300 * mib},
	} {
		command := exec.Command("sh", "-c", c.limits+"; exec "+program)
		command.Env = append(os.Environ(), printMemory+"=1")
		out, err := command.Output()
		if err != nil {
			t.Errorf("%s: %v", c.limits, err)
			continue
		}
		bytes, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
		if err != nil || bytes < c.min || bytes > c.max {
			t.Errorf("after %s the process may use %s bytes, want %d to %d", c.limits, out, c.min, c.max)
		}
	}
}

// TestGaugeFollowsLimit changes Go's memory limit, so it is not parallel.
func TestGaugeFollowsLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	debug.FreeOSMemory() // collects garbage, so that the live heap is known
	for _, c := range []struct {
		limit int64
		want  Level
	}{{math.MaxInt64, Enough}, {Used() * 100 / 80, Short}, {Used(), Critical}} {
		debug.SetMemoryLimit(c.limit)
		if got := new(Gauge).Level(); got != c.want {
			t.Errorf("%d bytes are in use of %d: got %v, want %v", Used(), c.limit, got, c.want)
		}
	}
}
