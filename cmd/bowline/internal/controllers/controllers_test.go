package controllers

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/why"
)

var (
	now         = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	testNetwork = why.Object{Group: "samplecrd.k8s.io", Resource: "networks", Namespace: "default",
		Name: "example-network"}
	testEntry = why.Object{Resource: "configmaps", Namespace: "default", Name: "network-example-network"}
)

// runOf returns a run that started ago before now.
func runOf(id, controller string, ago, took time.Duration, about why.Object) why.Run {
	start := now.Add(-ago)
	return why.Run{ID: id, Controller: controller, Object: about, Start: start, First: start, Duration: took, Times: 1}
}

// TestTableCombinesMetricsJournalAndNames checks that the table combines metrics, the journal, and the known
// controllers.
func TestTableCombinesMetricsJournalAndNames(t *testing.T) {
	t.Parallel()
	metrics := `
# TYPE controller_runtime_max_concurrent_reconciles gauge
controller_runtime_max_concurrent_reconciles{controller="busy"} 5
controller_runtime_max_concurrent_reconciles{controller="quiet"} 1
controller_runtime_max_concurrent_reconciles{controller="left"} 1
controller_runtime_max_concurrent_reconciles{controller="sorry"} 1
controller_runtime_max_concurrent_reconciles{controller="pushed"} 1
# TYPE controller_runtime_active_workers gauge
controller_runtime_active_workers{controller="busy"} 2
# TYPE controller_runtime_reconcile_total counter
controller_runtime_reconcile_total{controller="busy",result="success"} 40
controller_runtime_reconcile_total{controller="busy",result="error"} 2
# TYPE controller_runtime_reconcile_errors_total counter
controller_runtime_reconcile_errors_total{controller="busy"} 2
# TYPE workqueue_depth gauge
workqueue_depth{controller="busy",name="busy",priority="0"} 3
workqueue_depth{controller="busy",name="busy",priority="-100"} 4
workqueue_depth{name="no controller's",priority="0"} 9
`
	failed := runOf("1", "sorry", 90*time.Second, time.Second, testNetwork)
	failed.Err = "no scale"
	before := runOf("2", "busy", 3*time.Minute, time.Second, testNetwork)
	before.Err = "not yet"
	over := runOf("3", "busy", 2*time.Minute, time.Second, testNetwork)
	away := runOf("4", "directory", time.Minute, time.Second, testEntry)
	report := &why.Report{Now: now, Runs: []why.Run{over, failed, away}, Loops: []why.Loop{{
		Controllers: []string{"left", "right"}, Objects: []why.Object{testEntry}, Times: 1786,
		First: now.Add(-3 * time.Minute), Last: now.Add(-100 * time.Millisecond),
	}}, Failures: []why.Failure{
		{Controller: "busy", Object: before.Object, Err: before.Err, Start: before.Start, Over: true},
		// no longer in the journal
		{Controller: "pushed", Object: before.Object, Err: "long ago", Start: now.Add(-time.Hour)},
		{Controller: "sorry", Object: failed.Object, Err: failed.Err, Start: failed.Start},
	}}
	ended := why.Loop{Controllers: []string{"quiet"}, Objects: []why.Object{testEntry}, Times: 20,
		Last: now.Add(-time.Hour)}
	report.Loops = append(report.Loops, ended)
	all, err := controllerStates([]byte(metrics), report, []string{"quiet", "unused"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printControllers(&out, all, report.Now); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"busy working 7 42 2 3m ago, networks.samplecrd.k8s.io/default/example-network: not yet",
		"quiet idle 0 0 0 -", "sorry failing 0 0 0 90s ago,", "directory elsewhere - - - -", "unused off - - - -",
		"left looping 0 0 0 -", "right looping - - - -", "HOT LOOP left and right undo each other's changes",
		"pushed failing 0 0 0 60m ago, networks.samplecrd.k8s.io/default/example-network: long ago",
		"HOT LOOP quiet triggers itself", "causes the next (not in the last 60m)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
}
