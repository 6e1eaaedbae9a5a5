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
		t.Errorf("nothing has happened, and %s is left", left)
	}
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900} {
		p.start("here", now)
		if left := p.Remaining("here", now); left != want*time.Second {
			t.Errorf("pause %d is %s, want %s", i, left, want*time.Second)
		}
		if often := p.IsRepeated("here"); often != (i >= 2) {
			t.Errorf("after delay %d: IsRepeated is %t", i, often)
		}
		now = now.Add(want * time.Second)
		if left := p.Remaining("here", now); left != 0 {
			t.Errorf("pause %d is over, and %s is left", i, left)
		}
	}
	if p.Remaining("there", noon) != 0 || p.IsRepeated("there") {
		t.Error("it is as often elsewhere")
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
		t.Errorf("5 s after a pause of 8 s has begun %s is left", left)
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
		t.Errorf("it remembers %v", p.delays)
	}
}
