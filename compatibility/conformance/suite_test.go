package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2/types"
)

func TestReadReport(t *testing.T) {
	t.Parallel()
	const report = `[{"SpecReports": [
		{"ContainerHierarchyTexts": ["[sig-x] Pods"], "LeafNodeType": "It", "LeafNodeText": "run [Conformance]",
			"LeafNodeLabels": ["Conformance"], "State": "failed", "NumAttempts": 1, "RunTime": 2000000000,
			"Failure": {"Message": "no node"}},
		{"ContainerHierarchyTexts": ["[sig-x] Pods"], "LeafNodeType": "It", "LeafNodeText": "wait [Conformance]",
			"LeafNodeLabels": ["Conformance"], "State": "skipped"},
		{"LeafNodeType": "It", "LeafNodeText": "[sig-x] another", "State": "skipped"},
		{"LeafNodeType": "SynchronizedBeforeSuite", "State": "passed", "NumAttempts": 1}]}]`
	got, err := read(t, report)
	want := []spec{
		{Name: "[sig-x] Pods run [Conformance]", State: types.SpecStateFailed, Ran: true, Seconds: 2, Failure: "no node"},
		{Name: "[sig-x] Pods wait [Conformance]", State: types.SpecStateSkipped},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v (%v)", got, want, err)
	}
	const broken = `[{"SpecReports": [{"LeafNodeType": "SynchronizedBeforeSuite", "State": "failed", "NumAttempts": 1,
		"Failure": {"Message": "no server"}}]}]`
	if _, err := read(t, broken); err == nil || err.Error() != "SynchronizedBeforeSuite failed: no server" {
		t.Errorf("the error is %v", err)
	}
	if _, err := read(t, "{"); err == nil || !strings.Contains(err.Error(), "report.json: ") {
		t.Errorf("the error is %v", err)
	}
}

func read(t *testing.T, text string) ([]spec, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return readReport(file)
}
