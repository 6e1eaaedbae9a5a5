package storetest_test

import (
	"testing"

	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// TestJournal tests the suite itself, and that a store works on a log that is not instant, stores bytes and
// has other writers.
func TestJournal(t *testing.T) {
	storetest.Run(t, func(*testing.T) log.Log { return storetest.NewJournal().Open() })
	medium := func(*testing.T) storetest.Reopen { return storetest.NewJournal().Open }
	storetest.RunDurable(t, medium)
	storetest.RunShared(t, medium)
}
