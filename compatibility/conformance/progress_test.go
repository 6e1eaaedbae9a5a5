package main

import (
	"io"
	"strings"
	"testing"
)

func TestProgressNamesSpecs(t *testing.T) {
	t.Parallel()
	const output = `Running Suite: Kubernetes e2e suite
------------------------------
• [5.0 seconds]
[sig-apps] Job should end [Conformance]
/e2e/apps/job.go:1

  STEP: [sig-apps] is not a name here
------------------------------
• [FAILED] [0.1 seconds]
[sig-apps] Job [It] should fail [Conformance]
------------------------------
[sig-node] Pods should start [Conformance]
/e2e/node/pods.go:1
  STEP: starting
• [1.0 seconds]
------------------------------
`
	const want = `   1 [5.0 seconds] [sig-apps] Job should end [Conformance]
   2 [FAILED] [0.1 seconds] [sig-apps] Job [It] should fail [Conformance]
   3 [1.0 seconds] [sig-node] Pods should start [Conformance]
`
	for _, size := range []int{1, 7, len(output)} { // of each write
		got := &strings.Builder{}
		filter := &progressFilter{out: got}
		for rest := output; rest != ""; rest = rest[min(size, len(rest)):] {
			if _, err := io.WriteString(filter, rest[:min(size, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		if got.String() != want {
			t.Errorf("in writes of %d bytes, the progress is\n%s", size, got)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	last := &tail{}
	for range 3 {
		if _, err := io.WriteString(last, strings.Repeat("a", 3000)+"b"); err != nil {
			t.Fatal(err)
		}
	}
	if len(last.text) != 4096 || !strings.HasSuffix(string(last.text), "ab") {
		t.Errorf("%d bytes are kept: %q", len(last.text), last.text[max(0, len(last.text)-10):])
	}
}
