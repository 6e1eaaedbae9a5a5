package envtest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/compatibility/plane"
)

// TestSuiteRunsOnExistingCluster runs the suite with USE_EXISTING_CLUSTER. The suite then relies on
// garbage collection in the background, in the foreground and with orphans, and on the deletion of
// namespaces. On an API server alone, such as envtest's, these specs would time out.
func TestSuiteRunsOnExistingCluster(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, bowlinetest.Socket())
	environment := []string{"GOWORK=off", "USE_EXISTING_CLUSTER=true",
		"KUBECONFIG=" + plane.Kubeconfig(t, p.SocketConfig(t))}
	output := run(t, filepath.Join("..", "operator"), environment, "go", "test", "-count=1", "-v",
		"./internal/controller")
	for _, wanted := range []string{"Ran 8 of 10 Specs", "8 Passed", "0 Failed"} {
		if !strings.Contains(output, wanted) {
			t.Errorf("got no %q in the output of the suite:\n%s", wanted, output)
		}
	}
}
