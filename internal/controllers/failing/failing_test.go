package failing

import (
	"testing"
	"time"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func TestPausesDoubleUpToAQuarterOfAnHour(t *testing.T) {
	t.Parallel()
	p, now := New(), noon
	if left := p.Left("here", now); left != 0 {
		t.Errorf("nothing has happened, and %s is left", left)
	}
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900} {
		p.begin("here", now)
		if left := p.Left("here", now); left != want*time.Second {
			t.Errorf("pause %d is %s, want %s", i, left, want*time.Second)
		}
		if often := p.Often("here"); often != (i >= 2) {
			t.Errorf("after pause %d it is said to be often: %t", i, often)
		}
		now = now.Add(want * time.Second)
		if left := p.Left("here", now); left != 0 {
			t.Errorf("pause %d is over, and %s is left", i, left)
		}
	}
	if p.Left("there", noon) != 0 || p.Often("there") {
		t.Error("it is as often elsewhere")
	}
}

// Whoever looks in the middle of a pause waits for its end, and not for the whole of it again.
func TestWhatIsLeftOfAPauseBecomesLess(t *testing.T) {
	t.Parallel()
	p := New()
	for range 4 {
		p.begin("here", noon)
	}
	if left := p.Left("here", noon.Add(5*time.Second)); left != 3*time.Second {
		t.Errorf("5 s after a pause of 8 s has begun %s is left", left)
	}
}

func TestWhatWasLongAgoIsForgotten(t *testing.T) {
	t.Parallel()
	p := New()
	for range 5 {
		p.begin("here", noon)
	}
	p.begin("there", noon.Add(2*longest+time.Second))
	if len(p.of) != 1 || p.Often("here") {
		t.Errorf("it remembers %v", p.of)
	}
}
