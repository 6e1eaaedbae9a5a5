package disk_test

import (
	"flag"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/bowline-dev/bowline/internal/seed"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/disk"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

var metamorphicSeconds = flag.Int("metamorphic.seconds", 0, "how long TestMetamorphic goes on; one script if 0")

// TestMetamorphic compares the results of the same random operations, including restarts and forks, on stores
// with each log.
func TestMetamorphic(t *testing.T) {
	t.Parallel()
	subjects := []storetest.Subject{
		{Name: "memory", Medium: func(*testing.T) storetest.Reopen { return func() log.Log { return memory.New() } }},
		{Name: "journal", Medium: func(*testing.T) storetest.Reopen {
			return storetest.NewJournal().Open
		}, Durable: true},
		{Name: "disk", Medium: folder, Durable: true},
	}
	for begin, script := time.Now(), seed.Of(t); ; script++ {
		storetest.Metamorphic(t, script, 2000, subjects...)
		if t.Failed() || time.Since(begin) >= time.Duration(*metamorphicSeconds)*time.Second {
			return
		}
	}
}

// folder returns a disk log on a file system in memory. Crashes are not simulated.
func folder(t *testing.T) storetest.Reopen {
	fs := vfs.NewMem()
	return func() log.Log {
		l, err := disk.Open("store", disk.Options{FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}
