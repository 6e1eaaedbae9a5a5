package envtest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/compatibility/plane"
)

// TestSuiteRunsOnAClusterThatIsThere: on a cluster the suite relies on the collection of what an owner leaves, in the
// background, in the foreground and not at all, and on namespaces that go when they are deleted. On an API server alone, such
// as envtest's, these specs would wait until their time is over.
func TestSuiteRunsOnAClusterThatIsThere(t *testing.T) {
	t.Parallel()
	p := bowlinetest.Start(t, bowlinetest.Socket())
	environment := []string{"USE_EXISTING_CLUSTER=true", "KUBECONFIG=" + plane.Kubeconfig(t, p.SocketConfig(t))}
	said := run(t, filepath.Join("..", "operator"), environment, "go", "test", "-count=1", "-v", "./internal/controller")
	for _, wanted := range []string{"Ran 8 of 10 Specs", "8 Passed", "0 Failed"} {
		if !strings.Contains(said, wanted) {
			t.Errorf("the suite does not say %q, but:\n%s", wanted, said)
		}
	}
}
