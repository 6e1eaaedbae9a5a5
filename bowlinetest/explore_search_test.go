package bowlinetest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/bowline-dev/bowline/bowlinetest"
)

// fails runs the test in its own process, in which Explore must fail and print all texts.
func fails(t *testing.T, s bowlinetest.Scenario, texts ...string) {
	t.Helper()
	const variable = "BOWLINE_FAILING_TEST"
	if os.Getenv(variable) != "" {
		bowlinetest.Explore(t, s)
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=5m")
	child.Env = append(os.Environ(), variable+"=yes")
	out, err := child.CombinedOutput()
	if err == nil {
		t.Fatalf("the test passed: %s", out)
	}
	for _, text := range texts {
		if !strings.Contains(string(out), text) {
			t.Errorf("%v: the output lacks %q: %s", err, text, out)
		}
	}
}

// idles sends no requests.
func idles(ctx context.Context, _ typed.ConfigMapInterface) error {
	<-ctx.Done()
	return nil
}

func TestExploreFailsForIdleProcess(t *testing.T) {
	t.Parallel()
	fails(t, scenario(idles), "test sent no request to the server")
}

func TestExploreFailsWithoutFaultPoints(t *testing.T) {
	t.Parallel()
	s := lucky()
	s.Skip, s.Pairs = func(bowlinetest.Point) bool { return true }, 3
	fails(t, s, "no fault was injected")
}

func TestExploreFailsIfFaultIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := lucky()
	s.Replay = "refused: create configmaps default/nothing #1 of test"
	fails(t, s, "explored 0 fault points", "was not repeated")
}

// With one kind of fault per point, a pair needs two points.
func TestExplorePairsFaultsOfTwoPoints(t *testing.T) {
	t.Parallel()
	s := lucky()
	s.Faults, s.Pairs = []bowlinetest.Fault{bowlinetest.Refused, bowlinetest.Lost}, 20
	s.Skip = func(p bowlinetest.Point) bool { return p.Object == "default/copy-of-b" || p.N > 1 }
	if r := bowlinetest.Search(t, s); r.Runs != 3+4 {
		t.Errorf("one point: want no pair, got %s", r)
	}
	s.Skip = nil
	r := bowlinetest.Search(t, s)
	for _, replay := range r.Unreached {
		one, two, _ := strings.Cut(replay, "; ")
		if _, at, _ := strings.Cut(one, ": "); strings.HasSuffix(two, at) {
			t.Errorf("got a pair of one point: %s", replay)
		}
	}
	if r.Runs < 20 {
		t.Errorf("two points: want 20 pairs, got %s", r)
	}
}
