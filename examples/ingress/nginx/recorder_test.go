package nginx

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"
)

// recorder is a server in memory. It refuses configurations that contain certain texts. A text may consist of
// several parts, separated by plus signs, which must all be present, or be absent if they begin with an
// exclamation mark.
type recorder struct {
	mu      sync.Mutex
	refuses []string
	tests   int
	serving []string      // the texts that it served, without repetitions
	failure error         // the error of Serve
	slow    time.Duration // the duration of a test, in virtual time
}

func (r *recorder) Test(_ context.Context, c Configuration) error {
	time.Sleep(r.slow)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tests++
	for _, text := range r.refuses {
		all := true
		for part := range strings.SplitSeq(text, "+") {
			part, not := strings.CutPrefix(part, "!")
			all = all && strings.Contains(c.Text, part) != not
		}
		if all {
			return &refusal{"no " + text}
		}
	}
	return nil
}

func (r *recorder) Serve(_ context.Context, c Configuration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure == nil && r.now() != c.Text {
		r.serving = append(r.serving, c.Text)
	}
	return r.failure
}

func (r *recorder) now() string {
	if len(r.serving) == 0 {
		return ""
	}
	return r.serving[len(r.serving)-1]
}

// has checks which of these hosts are served.
func (r *recorder) has(t *testing.T, what, want string, hosts ...string) {
	t.Helper()
	var got []string
	for _, host := range hosts {
		if strings.Contains(r.now(), `"`+host+`"`) {
			got = append(got, host)
		}
	}
	if text := strings.Join(got, " "); text != want {
		t.Errorf("%s: %q are served, want %q", what, text, want)
	}
}
