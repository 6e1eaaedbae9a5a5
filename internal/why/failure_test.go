package why

import (
	"errors"
	"fmt"
	"testing"
)

// However much else happens, of each controller the last failure is known, and whether it has got over it.
func TestLastFailureOfControllerIsRetained(t *testing.T) {
	t.Parallel()
	j := New(Options{Runs: 8})
	run := func(controller, name string, err error) {
		j.Begin(controller, Object{Resource: "boats", Namespace: "default", Name: name}, nil, 0).End(err, 0)
	}
	run("sorry", "a", errors.New("no wind"))
	run("sorry", "b", nil) // which is another boat
	run("over", "a", errors.New("no water"))
	run("over", "a", errors.New("no water yet"))
	run("over", "a", nil)
	for i := range 100 {
		run("busy", fmt.Sprint(i), nil)
	}
	report := j.Report(Object{}, 100)
	got := ""
	for _, f := range report.Failures {
		got += fmt.Sprintln(f.Controller, f.Object.Name, f.Err, f.Over)
	}
	if want := "over a no water yet true\nsorry a no wind false\n"; got != want {
		t.Errorf("%swant\n%s", got, want)
	}
	for _, r := range report.Runs {
		if r.Controller != "busy" {
			t.Errorf("the run of %s was not evicted", r.Controller)
		}
	}
	if about := j.Report(Object{Resource: "boats", Namespace: "default", Name: "a"}, 1); len(about.Failures) > 0 {
		t.Errorf("a report about one object has %v", about.Failures)
	}
	for i := range 2 * maxFailures {
		run(fmt.Sprintf("controller %d", i), "a", errors.New("no"))
	}
	if n := len(j.Report(Object{}, 1).Failures); n != maxFailures {
		t.Errorf("%d failures are retained", n)
	}
}
