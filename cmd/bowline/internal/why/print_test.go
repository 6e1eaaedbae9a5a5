package why

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/terminal"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/why"
)

var (
	whyNow     = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	whyNetwork = why.Object{Group: "samplecrd.k8s.io", Resource: "networks", Namespace: "default",
		Name: "example-network"}
	whyEntry = why.Object{Resource: "configmaps", Namespace: "default", Name: "network-example-network"}
)

// whyRun returns a run that started the given time before whyNow.
func whyRun(id, controller string, ago, took time.Duration, about why.Object, causes []why.Cause,
	after ...string) why.Run {
	start := whyNow.Add(-ago)
	return why.Run{ID: id, Controller: controller, Object: about, Start: start, First: start, Duration: took, Times: 1,
		Causes: causes, After: after}
}

func whyUpdated(about why.Object, revision object.Revision) []why.Cause {
	return []why.Cause{{Kind: why.Changed, Change: why.Updated, Object: about, Revision: revision}}
}

// appliedNetwork returns a report about an applied network whose status update caused another controller to
// write.
func appliedNetwork() *why.Report {
	added := []why.Cause{{Kind: why.Changed, Change: why.Added, By: "kubectl-client-side-apply", Object: whyNetwork,
		Revision: 1016}}
	made := whyRun("a-1", "networks.samplecrd.k8s.io", 12*time.Second, 8100*time.Microsecond, whyNetwork, added)
	made.Notes = []string{"declared: 192.168.0.0/16 with gateway 192.168.0.1; actual: none"}
	made.Acts = []string{"created network bl-6be0d5a3 with 192.168.0.0/16 and gateway 192.168.0.1"}
	made.Writes = []why.Write{{Verb: "patch", Object: whyNetwork, Revision: 1017},
		{Verb: "patch", Object: whyNetwork, Subresource: "status", Revision: 1019}}
	second := whyRun("a-2", made.Controller, 11991*time.Millisecond, 27*time.Microsecond, whyNetwork,
		whyUpdated(whyNetwork, 1019), "a-1")
	second.Notes = []string{"declared: 192.168.0.0/16 with gateway 192.168.0.1; actual: the same"}
	second.Times, second.Start = 3, whyNow.Add(-2*time.Second)
	failed := whyRun("b-1", "directory", 11990*time.Millisecond, 1500*time.Microsecond, whyNetwork,
		whyUpdated(whyNetwork, 1019), "a-1")
	failed.Err = "the server is currently unable to handle the request"
	failed.Writes = []why.Write{{Verb: "create", Object: whyEntry, Err: "503"}}
	retried := whyRun("b-2", "directory", 10990*time.Millisecond, 6400*time.Microsecond, whyNetwork,
		[]why.Cause{{Kind: why.Retried, Err: failed.Err, Run: "b-1"}}, "b-1")
	retried.Notes = []string{"the gateway is 192.168.0.1: it is not in the directory"}
	retried.Writes = []why.Write{{Verb: "create", Object: whyEntry, Revision: 1020}}
	retried.RequeueAfter = 10 * time.Minute
	return &why.Report{Object: whyNetwork, Now: whyNow, Runs: []why.Run{made, failed, retried, second}}
}

// hotLoopReport returns a report about a ConfigMap that two controllers overwrite in turns.
func hotLoopReport() *why.Report {
	report := &why.Report{Object: whyEntry, Now: whyNow, Loops: []why.Loop{{
		Controllers: []string{"left", "right"}, Objects: []why.Object{whyEntry}, Times: 1786,
		First: whyNow.Add(-3 * time.Minute), Last: whyNow.Add(-100 * time.Millisecond),
	}}}
	names, after := []string{"left", "right"}, []string(nil)
	for k := range 14 {
		run := whyRun(fmt.Sprint(k), names[k%2], time.Duration(20-k)*time.Second, 2*time.Millisecond, whyEntry,
			whyUpdated(whyEntry, object.Revision(100+k)), after...)
		run.Notes = []string{"way is " + names[(k+1)%2] + " and should be " + names[k%2]}
		run.Writes = []why.Write{{Verb: "update", Object: whyEntry, Revision: object.Revision(101 + k)}}
		report.Runs = append(report.Runs, run)
		after = []string{run.ID}
	}
	return report
}

// TestReportMatchesDocument checks that docs/why.md quotes the output exactly.
func TestReportMatchesDocument(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile(filepath.Join("testdata", "docs", "why.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, report := range map[string]*why.Report{"a chain": appliedNetwork(), "a hot loop": hotLoopReport()} {
		var out bytes.Buffer
		if err := printReport(terminal.New(&out), report); err != nil {
			t.Fatal(err)
		}
		shown := out.String()
		if name == "a hot loop" {
			shown = strings.Join(slices.Collect(strings.Lines(shown))[:8], "")
		}
		if !strings.Contains(string(document), shown) {
			t.Errorf("docs/why.md lacks the output for %s:\n%s", name, shown)
		}
	}
}

// TestIndentationIsBounded checks that the indentation of a long chain is bounded and that all its
// runs are printed.
func TestIndentationIsBounded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	report := hotLoopReport()
	if err := printReport(terminal.New(&out), report); err != nil {
		t.Fatal(err)
	}
	if heads := strings.Count(out.String(), "took 2ms"); heads != len(report.Runs) {
		t.Errorf("got %d printed runs, want %d", heads, len(report.Runs))
	}
	for line := range strings.Lines(out.String()) {
		if indent := strings.IndexFunc(line, func(r rune) bool {
			return !strings.ContainsRune("│├└─ ", r)
		}); indent > 3*3*maxDepth {
			t.Errorf("got an indentation of %d, want at most %d: %s", indent, 3*3*maxDepth, line)
		}
	}
}

func TestOnlyTerminalsGetColors(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := printReport(terminal.OfWidth(&out, 80), hotLoopReport()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), terminal.Red+"HOT LOOP"+terminal.Reset) {
		t.Errorf("got output %q, want HOT LOOP in red", out.String()[:200])
	}
}

// TestControlCharactersAreRemoved checks that control characters in a server's response do not reach the
// terminal.
func TestControlCharactersAreRemoved(t *testing.T) {
	t.Parallel()
	report := hotLoopReport()
	const evil = "a\x1b]0;title\x07\u202eb"
	run := &report.Runs[0]
	run.Controller, run.Err, run.Notes, run.Acts = evil, evil, []string{evil}, []string{evil}
	run.Object.Name, run.Causes[0].By, run.Writes[0].Verb = evil, evil, evil
	report.Loops[0].Controllers[0], report.Loops[0].Objects[0].Name = evil, evil
	report.Object.Name = evil
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	got, err := why.ReadReport(text)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printReport(terminal.New(&out), got); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String(), "\x1b\x07\u202e") || strings.Count(out.String(), `a\x1b]0;title\a\u202eb`) < 8 {
		t.Errorf("got output %q, want the control characters escaped", out.String())
	}
	for _, text := range []string{`{"loops":[{"controllers":["c"],"objects":[]}]}`,
		`{"loops":[{"objects":[{"name":"a"}]}]}`, `[]`} {
		if _, err := why.ReadReport([]byte(text)); err == nil {
			t.Errorf("%s: got no error, want one for an invalid report", text)
		}
	}
}

func TestNoOpWriteIsMarked(t *testing.T) {
	t.Parallel()
	report := hotLoopReport()
	report.Runs = report.Runs[:1]
	report.Runs[0].Writes = []why.Write{
		{Verb: "apply", Object: whyEntry, Revision: 7, Unchanged: true},
		{Verb: "deletecollection", Object: why.Object{Resource: "pods", Namespace: "x"}, Status: 200},
	}
	report.Runs[0].MoreWrites, report.Runs[0].MoreCauses = 3, 2
	var out bytes.Buffer
	if err := printReport(terminal.New(&out), report); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"did       applied it, which changed nothing\n", "deleted all pods/x\n",
		"and 3 more writes\n", "and 2 more\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
}
