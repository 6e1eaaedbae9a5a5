package fault

import (
	"net/http"
	"testing"
)

// TestOnlyNewerWriteLosesUpdate checks that an answer is a lost update only if it is newer than the other client's
// change. The answer of an earlier write may arrive after that change.
func TestOnlyNewerWriteLosesUpdate(t *testing.T) {
	t.Parallel()
	for revision, lost := range map[string]bool{"9": false, "10": false, "11": true, "": true} {
		run := NewRun(Options{})
		r := &request{Request: &http.Request{Method: http.MethodPatch}, body: []byte(`{}`)}
		run.touch(r, meta{UID: "u", ResourceVersion: "10"})
		l := &lifetime{process: &Process{name: "p", run: run}}
		l.overwrites(r, meta{UID: "u", ResourceVersion: revision})
		if got := len(run.problems) > 0; got != lost {
			t.Errorf("revision %q after 10: got a lost update: %t, want %t", revision, got, lost)
		}
	}
}
