package bowlinetest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
)

// main is the behavior of a process on the configmaps of the namespace default.
type main func(ctx context.Context, c typed.ConfigMapInterface) error

// scenario returns a scenario with one process, and a user who creates the configmap a and, five seconds
// later, b. No controllers run.
func scenario(run main) bowlinetest.Scenario {
	inDefault := func(config *rest.Config) typed.ConfigMapInterface {
		return kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	}
	return bowlinetest.Scenario{
		Options: []bowlinetest.Option{bowlinetest.With(func(o *bowline.Options) {
			o.Controllers = []string{bowline.NoControllers}
		})},
		Processes: []bowlinetest.Process{{Name: "test", Run: func(ctx context.Context, config *rest.Config) error {
			return run(ctx, inDefault(config))
		}}},
		Act: func(ctx context.Context, config *rest.Config) error {
			for _, name := range []string{"a", "b"} {
				if _, err := inDefault(config).Create(ctx, configMap(name), metav1.CreateOptions{}); err != nil {
					return err
				}
				time.Sleep(5 * time.Second)
			}
			return nil
		},
	}
}

// copying creates a copy of each configmap after each event for it, until ctx ends. It calls copies with the
// error of each attempt.
func copying(copies func(ctx context.Context, c typed.ConfigMapInterface, name string, failed error) error) main {
	return func(ctx context.Context, c typed.ConfigMapInterface) error {
		w, err := c.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		defer w.Stop()
		for e := range w.ResultChan() {
			o, ok := e.Object.(*corev1.ConfigMap)
			if !ok || strings.HasPrefix(o.Name, "copy") {
				continue
			}
			name := "copy-of-" + o.Name
			_, err := c.Create(ctx, configMap(name), metav1.CreateOptions{})
			if err := copies(ctx, c, name, err); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
}

// finds returns the smallest failure of a scenario, which must mention a text.
func finds(t *testing.T, s bowlinetest.Scenario, text string) *bowlinetest.Failure {
	t.Helper()
	r := bowlinetest.Search(t, s)
	f := r.Smallest()
	if f == nil || !strings.Contains(f.String(), text) {
		t.Fatalf("%s\nwant a failure that mentions %q, got %v", r, text, f)
	}
	return f
}

func TestExploreFindsPanic(t *testing.T) {
	t.Parallel()
	s := scenario(copying(func(_ context.Context, _ typed.ConfigMapInterface, name string, err error) error {
		if err != nil {
			panic("no copy " + name)
		}
		return nil
	}))
	s.Faults = []bowlinetest.Fault{bowlinetest.Refused}
	f := finds(t, s, "test panicked: no copy copy-of-a")
	if f.Replay != "refused: create configmaps default/copy-of-a #1 of test" {
		t.Errorf("got the smallest failure %s", f.Replay)
	}
}

func TestExploreFindsUnsettledState(t *testing.T) {
	t.Parallel()
	s := scenario(func(ctx context.Context, c typed.ConfigMapInterface) error {
		for i := 0; ctx.Err() == nil; i++ {
			if _, err := c.Create(ctx, configMap(fmt.Sprint("n", i)), metav1.CreateOptions{}); err != nil {
				return err
			}
			time.Sleep(10 * time.Second)
		}
		return nil
	})
	if f := finds(t, s, "never settles"); len(f.Kinds) > 0 {
		t.Errorf("got the failure in %s, want it in the run without faults", f.Replay)
	}
	s.PeriodicWrites = true
	s.Faults, s.Budget = []bowlinetest.Fault{bowlinetest.Behind}, 1
	if r := bowlinetest.Search(t, s); len(r.Failures) > 0 {
		t.Errorf("a process with PeriodicWrites fails: %s", r.Smallest())
	}
}

// A loop without pauses would keep virtual time from advancing forever.
func TestExploreEndsHotLoop(t *testing.T) {
	t.Parallel()
	finds(t, scenario(func(ctx context.Context, c typed.ConfigMapInterface) error {
		for ctx.Err() == nil {
			c.Get(ctx, "nothing", metav1.GetOptions{})
		}
		return nil
	}), "hot loop")
}

func TestExploreFindsProcessThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	finds(t, scenario(func(ctx context.Context, _ typed.ConfigMapInterface) error {
		<-ctx.Done()
		time.Sleep(90 * time.Second)
		return nil
	}), "test has not returned")
}

func TestExploreFindsProcessThatKeepsEnding(t *testing.T) {
	t.Parallel()
	finds(t, scenario(func(context.Context, typed.ConfigMapInterface) error {
		return errors.New("no luck")
	}), "test keeps ending: no luck")
}

// Goroutines that outlive their bubble stay in the process, so the test runs in its own process.
func TestExploreFindsLeakedGoroutines(t *testing.T) {
	t.Parallel()
	fails(t, scenario(func(ctx context.Context, _ typed.ConfigMapInterface) error {
		go forgotten()
		<-ctx.Done()
		return nil
	}), "leaked goroutines", "forgotten")
}

func forgotten() { select {} }

func TestExploreFindsTransientInvariantViolation(t *testing.T) {
	t.Parallel()
	s := scenario(copying(func(ctx context.Context, c typed.ConfigMapInterface, name string, err error) error {
		if err == nil {
			return c.Delete(ctx, name, metav1.DeleteOptions{})
		}
		return err
	}))
	s.Faults = []bowlinetest.Fault{bowlinetest.Doubled}
	s.Invariants = []func(bowlinetest.State) error{func(s bowlinetest.State) error {
		if s.Find("ConfigMap", "default", "copy-of-b") != nil {
			return errors.New("b has a copy")
		}
		return nil
	}}
	f := finds(t, s, "an invariant is violated: b has a copy")
	if want := "create configmaps default/copy-of-b"; !strings.Contains(f.Trace(), want) {
		t.Errorf("the trace does not come to %s:\n%s", want, f.Trace())
	}
}

func TestExploreReportsNondeterminism(t *testing.T) {
	t.Parallel()
	s := scenario(copying(func(ctx context.Context, c typed.ConfigMapInterface, name string, _ error) error {
		o := configMap(name)
		o.Data = map[string]string{"random": fmt.Sprint(rand.Uint64())}
		_, err := c.Update(ctx, o, metav1.UpdateOptions{})
		return err
	}))
	finds(t, s, "two runs without faults differ")
	s.Faults = []bowlinetest.Fault{bowlinetest.Throttled}
	s.Compare = func(s bowlinetest.State) bowlinetest.State {
		for _, o := range s.Kind("ConfigMap") {
			delete(o.Object, "data")
		}
		return s
	}
	if r := bowlinetest.Search(t, s); len(r.Failures) > 0 || r.Tried() == 0 {
		t.Errorf("%s\n%s", r, r.Smallest())
	}
}

// lucky survives one refused write, but not two.
func lucky() bowlinetest.Scenario {
	s := scenario(copying(func(ctx context.Context, c typed.ConfigMapInterface, name string, err error) error {
		if err != nil {
			c.Create(ctx, configMap(name), metav1.CreateOptions{})
		}
		return nil
	}))
	s.Faults = []bowlinetest.Fault{bowlinetest.Refused}
	return s
}

func TestExploreRepeatsAFailureByItsName(t *testing.T) {
	t.Parallel()
	s := lucky()
	if r := bowlinetest.Search(t, s); len(r.Failures) > 0 || r.Points[bowlinetest.Refused] != 2 {
		t.Fatalf("%s\n%s", r, r.Smallest())
	}
	s.Replay = "refused: create configmaps default/copy-of-a #1 of test; refused: create configmaps " +
		"default/copy-of-a #2 of test"
	r := bowlinetest.Search(t, s)
	if f := r.Smallest(); f == nil || f.Replay != s.Replay || r.Runs != 3 ||
		!strings.Contains(f.String(), "copy-of-a: is missing") {
		t.Errorf("%s\n%s", r, f)
	}
	s.Replay = "refused: create configmaps default/nothing #1 of test"
	if r := bowlinetest.Search(t, s); len(r.Unreached) != 1 || len(r.Failures) > 0 {
		t.Errorf("unknown fault point: got %s", r)
	}
}

// The same seed selects the same faults.
func TestExploreChoosesBySeed(t *testing.T) {
	t.Parallel()
	s := lucky()
	s.Faults, s.Budget, s.Pairs = nil, 6, 10
	first := bowlinetest.Search(t, s)
	s.Seed = first.Seed
	second := bowlinetest.Search(t, s)
	if a, b := fmt.Sprint(first.Points), fmt.Sprint(second.Points); a != b || first.Tried() == 0 || first.Tried() > 12 {
		t.Errorf("seed %d: got %s and then %s", first.Seed, a, b)
	}
}

func TestExploreTriesOnlySelectedFaults(t *testing.T) {
	t.Parallel()
	s := lucky()
	s.Faults = []bowlinetest.Fault{bowlinetest.Refused, bowlinetest.Doubled}
	s.Skip = func(p bowlinetest.Point) bool { return strings.HasSuffix(p.Object, "b") }
	r := bowlinetest.Search(t, s)
	if got := fmt.Sprint(r.Points); got != "map[doubled:2 refused:1]" {
		t.Errorf("got tried faults %s", got)
	}
}

// An effect outside the API is a point like a write: the process may crash around it, and has no effects
// after the crash.
func TestExploreInjectsExternalFaults(t *testing.T) {
	t.Parallel()
	type system struct{ Made []string }
	s := scenario(nil)
	s.ExternalSystem = func() any { return &system{} }
	s.ExternalState = func(w any) any { return w }
	s.Processes[0].Run = func(ctx context.Context, config *rest.Config) error {
		w := bowlinetest.ExternalSystem[*system](ctx)
		for _, name := range []string{"first", "second"} {
			err := bowlinetest.Effect(ctx, "make "+name, func() error { w.Made = append(w.Made, name); return nil })
			if err != nil && ctx.Err() == nil {
				return err
			}
		}
		<-ctx.Done()
		return nil
	}
	s.Faults = []bowlinetest.Fault{bowlinetest.CrashBefore, bowlinetest.CrashAfter}
	r := bowlinetest.Search(t, s)
	failed := map[string]bool{}
	for _, f := range r.Failures {
		failed[f.Replay] = true
	}
	// A crash before the first effect leaves each effect to be done once after the restart. At every other
	// point some effect is done twice.
	if len(failed) != 3 || failed["crash before: effect external make first #1 of test"] || r.Tried() != 4 {
		t.Errorf("%s\nfailed: %v", r, failed)
	}
	if got := bowlinetest.Effect(t.Context(), "outside of a run", func() error {
		return errors.ErrUnsupported
	}); got != errors.ErrUnsupported {
		t.Errorf("outside of a run: got %v from Effect", got)
	}
}
