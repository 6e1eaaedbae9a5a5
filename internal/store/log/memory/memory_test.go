package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) log.Log { return memory.New() })
}

func TestRevisionsStartAtClock(t *testing.T) {
	t.Parallel()
	before := time.Now().UnixMicro()
	first, err := memory.New().Current(t.Context())
	if err != nil || int64(first) < before || int64(first) > time.Now().UnixMicro() || len(first.String()) != 16 {
		t.Errorf("the first revision is %d, %v", first, err)
	}
	synctest.Test(t, func(t *testing.T) {
		first, _ := memory.New().Current(t.Context())
		time.Sleep(time.Second)
		second, _ := memory.New().Current(t.Context())
		if len(first.String()) != 16 || second != first+1_000_000 {
			t.Errorf("in a bubble the first revisions are %d and, a second later, %d", first, second)
		}
	})
}

func TestAppendRejectsGap(t *testing.T) {
	t.Parallel()
	l := memory.New()
	current, _ := l.Current(t.Context())
	if err := l.Append(t.Context(), []log.Commit{{Revision: current + 2}}); err == nil {
		t.Error("a commit that does not follow was accepted")
	}
}
