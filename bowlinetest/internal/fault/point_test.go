package fault_test

import (
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/bowlinetest/internal/fault"
)

func TestAPlanIsReadAsItIsPrinted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"undisturbed",
		"crash before: update networks.samplecrd.k8s.io/status default/a #2 of network",
		"undisturbed; the user stops after 2",
		"refused: create a b #1 of c; the user stops after 12",
		"refused: effect external write a b.json #1 of two words; stale: list configmaps * #1 of x",
	} {
		plan, err := fault.Parse(text)
		if err != nil || plan.String() != text {
			t.Errorf("%q is read as %q, %v", text, plan, err)
		}
	}
	for text, want := range map[string]string{
		"explosion: create a b #1 of c":       "no kind of fault",
		"refused":                             "invalid fault point",
		"refused: create a b of c":            "invalid fault point",
		"refused: create a b #x of c":         "invalid fault point",
		"refused: create a b #1 of c; refuse": "no kind of fault",
		"the user stops after lunch":          "lacks the number of writes",
	} {
		if _, err := fault.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
