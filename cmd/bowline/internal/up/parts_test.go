package up

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestStopNamesPartsThatContinue checks that a stop does not wait without a limit for a part that ignores its context.
func TestStopNamesPartsThatContinue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		parts, release := newParts(ctx), make(chan struct{})
		parts.start("obedient", func(ctx context.Context) error { <-ctx.Done(); return nil })
		parts.start("deaf", func(context.Context) error { <-release; return nil })
		time.AfterFunc(time.Minute, cancel)
		began := time.Now()
		err := parts.wait()
		if took := time.Since(began); took != time.Minute+partsTimeout {
			t.Errorf("it took %v, want a minute and %v", took, partsTimeout)
		}
		if err == nil || err.Error() != "25s after bowline was stopped, these parts still run: deaf" {
			t.Errorf("got error %v, want one that names the part", err)
		}
		close(release)
	})
}

// TestFailureOfPartStopsOthers checks that the first failure cancels the other parts, and that all errors are returned.
func TestFailureOfPartStopsOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		parts := newParts(t.Context())
		parts.start("failing", func(context.Context) error { return errors.New("first") })
		parts.start("other", func(ctx context.Context) error { <-ctx.Done(); return errors.New("second") })
		if err := parts.wait(); err == nil || !strings.Contains(err.Error(), "first") ||
			!strings.Contains(err.Error(), "second") {
			t.Errorf("got error %v, want both failures", err)
		}
	})
}
