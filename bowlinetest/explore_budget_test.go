package bowlinetest

import (
	"strings"
	"testing"
)

// The race detector limits a budget, and the report mentions it. No budget stays unlimited.
func TestBudgetWithTheRaceDetector(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ requested, limit, want int }{{30, 6, 6}, {4, 6, 4}, {0, 6, 0}, {30, 0, 30}} {
		if got := budget(c.requested, c.limit); got != c.want {
			t.Errorf("budget(%d, %d): got %d, want %d", c.requested, c.limit, got, c.want)
		}
	}
	const note = "the budget of 30 runs is limited to 6 by the race detector"
	if text := (&Report{requested: 30, budget: 6}).String(); !strings.Contains(text, note) {
		t.Errorf("the report lacks %q:\n%s", note, text)
	}
	if text := (&Report{requested: 30, budget: 30}).String(); strings.Contains(text, "race") {
		t.Errorf("the report mentions the race detector:\n%s", text)
	}
}
