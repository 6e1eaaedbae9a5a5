package podbackoff

import (
	"testing"
	"time"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func TestDelayDoublesUpToFifteenMinutes(t *testing.T) {
	t.Parallel()
	p, now := New(), noon
	if left := p.Remaining("here", now); left != 0 {
		t.Errorf("before any delay: got %s, want 0", left)
	}
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900} {
		p.start("here", now)
		if left := p.Remaining("here", now); left != want*time.Second {
			t.Errorf("delay %d: got %s, want %s", i, left, want*time.Second)
		}
		if repeated := p.IsRepeated("here"); repeated != (i >= 2) {
			t.Errorf("after delay %d: got IsRepeated %t, want %t", i, repeated, i >= 2)
		}
		now = now.Add(want * time.Second)
		if left := p.Remaining("here", now); left != 0 {
			t.Errorf("after the end of delay %d: got %s, want 0", i, left)
		}
	}
	if p.Remaining("there", noon) != 0 || p.IsRepeated("there") {
		t.Error("another key: got a delay, want none")
	}
}

// Remaining returns the rest of the current delay rather than all of it.
func TestRemainingDecreases(t *testing.T) {
	t.Parallel()
	p := New()
	for range 4 {
		p.start("here", noon)
	}
	if left := p.Remaining("here", noon.Add(5*time.Second)); left != 3*time.Second {
		t.Errorf("5 s after the start of a delay of 8 s: got %s, want 3s", left)
	}
}

func TestDelayResetsAfterLongSuccess(t *testing.T) {
	t.Parallel()
	p := New()
	for range 5 {
		p.start("here", noon)
	}
	p.start("there", noon.Add(2*maxDelay+time.Second))
	if len(p.delays) != 1 || p.IsRepeated("here") {
		t.Errorf("got delays %v, want only the new one", p.delays)
	}
}
