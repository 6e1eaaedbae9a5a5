package envtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSuitesRunUnchanged runs a suite in kubebuilder's layout, with Ginkgo, and one in plain Go. Both start
// kube-apiserver and etcd from KUBEBUILDER_ASSETS, install a definition, run a manager, add users, call
// kubectl, and stop everything.
func TestSuitesRunUnchanged(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	binary, assets := filepath.Join(bin, "bowline"), filepath.Join(bin, "assets")
	run(t, filepath.Join("..", ".."), nil, "go", "build", "-ldflags=-s -w", "-o", binary, "./cmd/bowline")
	if output := run(t, bin, nil, binary, "assets", assets); output != "export KUBEBUILDER_ASSETS='"+assets+"'\n" {
		t.Errorf("bowline assets: got output %q", output)
	}
	environment := []string{"GOWORK=off", "KUBEBUILDER_ASSETS=" + assets, "TMPDIR=" + t.TempDir()}
	output := run(t, filepath.Join("..", "operator"), environment, "go", "test", "-count=1", "-v", "./...")
	for _, wanted := range []string{"Ran 4 of 10 Specs", "4 Passed", "--- PASS: TestGreeting"} {
		if !strings.Contains(output, wanted) {
			t.Errorf("got no %q in the output of the suites:\n%s", wanted, output)
		}
	}
}

// run runs a program, which must succeed, and returns its output.
func run(t *testing.T, dir string, environment []string, program string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Dir, c.Env = dir, append(os.Environ(), environment...)
	output, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", c, err, output)
	}
	return string(output)
}
