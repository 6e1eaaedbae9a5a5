package resourcequota

import (
	"testing"
	"time"
)

// Discovery runs twice after a change of a definition: at once, and after servers have had time to apply it.
func TestDiscoveryRunsTwicePerDefinition(t *testing.T) {
	t.Parallel()
	changed := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return changed.Add(time.Duration(seconds) * time.Second) }
	for _, c := range []struct {
		discovered, now int
		want            bool
	}{
		{-5, 0, true}, {-5, 60, true}, {0, 0, true}, {1, 1, false}, {1, 29, false}, {1, 30, true}, {1, 90, true},
		{30, 30, false}, {31, 90, false},
	} {
		if got := needsDiscovery(changed, at(c.discovered), at(c.now)); got != c.want {
			t.Errorf("discovery at %d s, check at %d s: got %t, want %t", c.discovered, c.now, got, c.want)
		}
	}
	if needsDiscovery(time.Time{}, changed, at(60)) {
		t.Error("unchanged definition: got true, want false")
	}
}
