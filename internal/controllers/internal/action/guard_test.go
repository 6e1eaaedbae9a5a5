package action_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/trial"
)

// stepFunc is a function that serves as an action and as a precondition.
type stepFunc func() error

func (stepFunc) String() string { return "a test" }

func (f stepFunc) Do(context.Context, *action.Executor) error { return f() }

func (f stepFunc) Check(context.Context, *action.Executor) error { return f() }

// Preconditions are checked again once their result is old, also between actions that run in parallel. If
// they fail then, no further action runs.
func TestPreconditionsAreCheckedAgainAfterSlowWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slow           int // index of the write that is slow
		staleAt        int // number of the check that fails
		checks, writes int32
	}{
		{slow: -1, staleAt: -1, checks: 1, writes: 8},
		{slow: 0, staleAt: -1, checks: 2, writes: 8},
		{slow: 0, staleAt: 2, checks: 2, writes: 1},
		{slow: 2, staleAt: 2, checks: 2, writes: 3}, // both actions of the second batch have run
		{slow: 6, staleAt: 2, checks: 2, writes: 7}, // the third batch, of four, does not contain the last action
		{slow: -1, staleAt: 1, checks: 1, writes: 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var checks, writes atomic.Int32
			write := func(n int) action.Action {
				return stepFunc(func() error {
					if n == c.slow {
						time.Sleep(3 * time.Second)
					}
					writes.Add(1)
					return nil
				})
			}
			check := stepFunc(func() error {
				if int(checks.Add(1)) == c.staleAt {
					return action.ErrStaleCache
				}
				return nil
			})
			var together action.Parallel
			for n := range 7 {
				together = append(together, write(n))
			}
			executor := &action.Executor{}
			_, err := executor.Do(t.Context(),
				action.Guard{Preconditions: []action.Precondition{check}, Then: []action.Action{together, write(7)}})
			if errors.Is(err, action.ErrStaleCache) != (c.staleAt > 0) || checks.Load() != c.checks ||
				writes.Load() != c.writes {
				t.Errorf("%+v: got %d checks, %d writes, error %v", c, checks.Load(), writes.Load(), err)
			}
		})
	}
}

// The first precondition is checked again if checking the second one takes long.
func TestPreconditionsHoldTogether(t *testing.T) {
	t.Parallel()
	for _, changes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			checks, slowChecks, writes := 0, 0, 0
			first := stepFunc(func() error {
				if checks++; checks > 1 && changes {
					return action.ErrStaleCache
				}
				return nil
			})
			second := stepFunc(func() error {
				if slowChecks++; slowChecks == 1 {
					time.Sleep(30 * time.Second)
				}
				return nil
			})
			write := stepFunc(func() error {
				writes++
				return nil
			})
			executor := &action.Executor{}
			_, err := executor.Do(t.Context(),
				action.Guard{Preconditions: []action.Precondition{first, second}, Then: []action.Action{write}})
			if errors.Is(err, action.ErrStaleCache) != changes || checks != 2 || (writes == 0) != changes {
				t.Errorf("changed meanwhile (%t): got %d checks, %d writes, error %v; want 2 checks", changes, checks,
					writes, err)
			}
		})
	}
}

// slowTransport is a transport that delays two of three responses.
type slowTransport struct {
	http.RoundTripper
	requests atomic.Int32
}

func (l *slowTransport) RoundTrip(q *http.Request) (*http.Response, error) {
	if l.requests.Add(1)%3 != 0 {
		time.Sleep(3 * time.Second)
	}
	return l.RoundTripper.RoundTrip(q)
}

// A precondition in a list is checked no more often than a single one.
func TestNestedPreconditionsAreNotRetriedTwice(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}}
		made, err := bowlinetest.Client[*corev1.ConfigMap](t, p).Create(t.Context(), made, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		config := rest.CopyConfig(p.RESTConfig())
		way := &slowTransport{RoundTripper: config.Transport}
		config.Transport = way
		c, err := client.New(config)
		if err != nil {
			t.Fatal(err)
		}
		writes := 0
		_, err = (&action.Executor{Client: c}).Do(t.Context(), action.Guard{
			Preconditions: []action.Precondition{action.Unchanged[*corev1.ConfigMap]{Resource: configs,
				Objects: []*corev1.ConfigMap{made}}},
			Then: []action.Action{stepFunc(func() error {
				writes++
				return nil
			})},
		})
		if requests := way.requests.Load(); err != nil || writes != 1 || requests != 3 {
			t.Errorf("got %d requests, %d writes, error %v; want 3, 1 and none", requests, writes, err)
		}
	}, trial.Alone())
}

// An event reports the action before it. It is recorded even if that action took long and the remaining ones
// do not run.
func TestEventIsRecordedIfNextActionFails(t *testing.T) {
	t.Parallel()
	var executor *action.Executor
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		checks, writes := 0, 0
		check := stepFunc(func() error {
			if checks++; checks > 1 {
				return action.ErrStaleCache
			}
			return nil
		})
		write := stepFunc(func() error {
			writes++
			time.Sleep(3 * time.Second)
			return nil
		})
		about := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", UID: "a"}}
		_, err := executor.Do(t.Context(), action.Guard{
			Preconditions: []action.Precondition{check},
			Then: []action.Action{write, action.Event{Object: about, Reason: "Written", Message: "it was"},
				write},
		})
		synctest.Wait()
		events, listed := bowlinetest.Client[*corev1.Event](t, p).List(t.Context(), "default", metav1.ListOptions{})
		if !errors.Is(err, action.ErrStaleCache) || writes != 1 || checks != 2 || listed != nil ||
			len(events.Items) != 1 {
			t.Errorf("got error %v, %d checks, %d writes, events %v (%v); want ErrStaleCache, 2, 1 and one event", err,
				checks,
				writes, events.Items, listed)
		}
	}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		executor = action.NewExecutor(m, "test")
		return nil
	}))
}
