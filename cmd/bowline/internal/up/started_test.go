package up

import (
	"testing"
	"time"
)

func TestProcessStartsBeforeMain(t *testing.T) {
	t.Parallel()
	now := time.Now()
	if start := ProcessStart(now); start.After(now) || now.Sub(start) > time.Hour {
		t.Errorf("got start time %v, want one in the hour before %v", start, now)
	}
}
