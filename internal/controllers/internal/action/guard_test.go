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
		behind         int // number of the check that fails
		asked, written int32
	}{
		{slow: -1, behind: -1, asked: 1, written: 8},
		{slow: 0, behind: -1, asked: 2, written: 8},
		{slow: 0, behind: 2, asked: 2, written: 1},
		{slow: 2, behind: 2, asked: 2, written: 3}, // both actions of the second batch have run
		{slow: 6, behind: 2, asked: 2, written: 7}, // the third batch, of four, does not contain the last action
		{slow: -1, behind: 1, asked: 1, written: 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked, written atomic.Int32
			write := func(n int) action.Action {
				return stepFunc(func() error {
					if n == c.slow {
						time.Sleep(3 * time.Second)
					}
					written.Add(1)
					return nil
				})
			}
			ask := stepFunc(func() error {
				if int(asked.Add(1)) == c.behind {
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
				action.Guard{Preconditions: []action.Precondition{ask}, Then: []action.Action{together, write(7)}})
			if errors.Is(err, action.ErrStaleCache) != (c.behind > 0) || asked.Load() != c.asked ||
				written.Load() != c.written {
				t.Errorf("%+v: got %d checks, %d writes, error %v", c, asked.Load(), written.Load(), err)
			}
		})
	}
}

// The first precondition is checked again if checking the second one takes long.
func TestPreconditionsHoldTogether(t *testing.T) {
	t.Parallel()
	for _, changes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			asked, slow, written := 0, 0, 0
			first := stepFunc(func() error {
				if asked++; asked > 1 && changes {
					return action.ErrStaleCache
				}
				return nil
			})
			second := stepFunc(func() error {
				if slow++; slow == 1 {
					time.Sleep(30 * time.Second)
				}
				return nil
			})
			write := stepFunc(func() error {
				written++
				return nil
			})
			executor := &action.Executor{}
			_, err := executor.Do(t.Context(),
				action.Guard{Preconditions: []action.Precondition{first, second}, Then: []action.Action{write}})
			if errors.Is(err, action.ErrStaleCache) != changes || asked != 2 || (written == 0) != changes {
				t.Errorf("changed meanwhile (%t): got %d checks, %d writes, error %v; want 2 checks", changes, asked,
					written, err)
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
		written := 0
		_, err = (&action.Executor{Client: c}).Do(t.Context(), action.Guard{
			Preconditions: []action.Precondition{action.Unchanged[*corev1.ConfigMap]{Resource: configs,
				Objects: []*corev1.ConfigMap{made}}},
			Then: []action.Action{stepFunc(func() error {
				written++
				return nil
			})},
		})
		if asked := way.requests.Load(); err != nil || written != 1 || asked != 3 {
			t.Errorf("got %d requests, %d writes, error %v; want 3, 1 and none", asked, written, err)
		}
	}, trial.Alone())
}

// An event reports the action before it. It is recorded even if that action took long and the remaining ones
// do not run.
func TestEventIsRecordedIfNextActionFails(t *testing.T) {
	t.Parallel()
	var executor *action.Executor
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		asked, written := 0, 0
		ask := stepFunc(func() error {
			if asked++; asked > 1 {
				return action.ErrStaleCache
			}
			return nil
		})
		write := stepFunc(func() error {
			written++
			time.Sleep(3 * time.Second)
			return nil
		})
		about := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", UID: "a"}}
		_, err := executor.Do(t.Context(), action.Guard{
			Preconditions: []action.Precondition{ask},
			Then: []action.Action{write, action.Event{Object: about, Reason: "Written", Message: "it was"},
				write},
		})
		synctest.Wait()
		events, listed := bowlinetest.Client[*corev1.Event](t, p).List(t.Context(), "default", metav1.ListOptions{})
		if !errors.Is(err, action.ErrStaleCache) || written != 1 || asked != 2 || listed != nil ||
			len(events.Items) != 1 {
			t.Errorf("got error %v, %d checks, %d writes, events %v (%v); want ErrStaleCache, 2, 1 and one event", err,
				asked,
				written, events.Items, listed)
		}
	}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		executor = action.NewExecutor(m, "test")
		return nil
	}))
}
