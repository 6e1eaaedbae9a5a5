package main

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2/types"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	expected := map[string]string{
		"[sig-a] listed and fails":  "needs RBAC",
		"[sig-a] listed and passes": "needs RBAC",
		"[sig-b] not run":           needsContainer + ": it is executed in",
		"[sig-b] of another suite":  "needs RBAC",
		"[sig-c] not in focus":      needsContainer + ": its output",
	}
	specs := []spec{
		{Name: "[sig-a] passes", State: types.SpecStatePassed, Ran: true},
		{Name: "[sig-a] listed and fails", State: types.SpecStateTimedout, Ran: true},
		{Name: "[sig-a] listed and passes", State: types.SpecStatePassed, Ran: true},
		{Name: "[sig-a] fails", State: types.SpecStatePanicked, Ran: true, Failure: "a\nb"},
		{Name: "[sig-a] skips itself", State: types.SpecStateSkipped, Ran: true, Failure: "one node"},
		{Name: "[sig-b] not run", State: types.SpecStateSkipped},
		{Name: "[sig-c] not in focus", State: types.SpecStateSkipped},
	}
	got := compare(specs, expected, regexp.MustCompile("sig-[ab]"))
	want := &comparison{
		Groups: []*group{
			{SIG: "sig-a", Ran: 5, Pass: 1, ExpectedFailures: 1, Failures: 1, UnexpectedPasses: 1, Skipped: 1},
			{SIG: "sig-b", NeedContainer: 1},
		},
		Failed:  []spec{specs[3]},
		Passed:  []string{"[sig-a] listed and passes"},
		Unknown: []string{"[sig-b] of another suite"},
		Skipped: []spec{specs[4]},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("compared %+v, want %+v", got, want)
	}
	const message = "1 specs failed unexpectedly, 1 passed although expected.txt lists them, " +
		"and 1 in expected.txt do not exist"
	if err := got.err(); err == nil || err.Error() != message {
		t.Errorf("the error is %v, want %s", err, message)
	}
	if err := compare(specs[:2], map[string]string{specs[1].Name: "needs RBAC"}, regexp.MustCompile("")).err(); err != nil {
		t.Errorf("a run as expected fails: %v", err)
	}
	out := &strings.Builder{}
	if err := got.print(out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"sig-a   5     1        1                    1        1                        1         0",
		"all     5     1        1                    1        1                        1         1",
		"1 specs were not run because they need a container that runs; -all runs them.",
		"FAILED [sig-a] fails (0s)\n    a\n    b\n",
		"SKIPPED [sig-a] skips itself\n    one node\n",
		"PASSED although expected.txt lists it: [sig-a] listed and passes",
		"NOT IN THE SUITE, although expected.txt lists it: [sig-b] of another suite",
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("the output lacks %q:\n%s", line, out)
		}
	}
}
