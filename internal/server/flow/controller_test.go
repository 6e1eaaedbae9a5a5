package flow

import (
	"context"
	"errors"
	"log/slog"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/fair"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/server/tasks"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// testController runs a test with a controller that has not started, in a bubble.
func testController(t *testing.T, test func(t *testing.T, c *Controller, disk *storetest.Faults)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		disk := &storetest.Faults{Log: memory.New()}
		state, err := store.New(t.Context(), disk, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		group, kinds := tasks.New(t.Context()), kind.NewRegistry(builtin.Kinds(object.NewCache(0))...)
		defer func() {
			group.Cancel()
			if err := errors.Join(group.Wait(context.Background()), state.Close()); err != nil {
				t.Error(err)
			}
		}()
		test(t, New(Options{Store: state, Kinds: kinds, Reader: stored.NewReader(state, kinds),
			Queue: fair.New(fair.Limits{Seats: 100, Waiting: 400}), Tasks: group, Log: slog.New(slog.DiscardHandler),
			Ensure: func(context.Context, kind.Initial) (bool, error) { return true, nil },
		}), disk)
	})
}

// A creation of the initial objects that failed is repeated, though no object changes.
func TestFailedCreationIsRepeated(t *testing.T) {
	t.Parallel()
	testController(t, func(t *testing.T, c *Controller, disk *storetest.Faults) {
		disk.Fail(&log.FullError{Medium: "/data", Err: syscall.ENOSPC})
		if err := c.Start(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if c.uid(schemas, "catch-all") == "" || c.uid(levels, "catch-all") == "" {
			t.Error("the objects are missing")
		}
	})
}

// Requests that precede Start are classified.
func TestRequestsBeforeStart(t *testing.T) {
	t.Parallel()
	testController(t, func(t *testing.T, c *Controller, _ *storetest.Faults) {
		route := of("get", "", "pods", "", "default")
		if s := c.Classify(auth.NewUser("a", auth.AdminGroup), route); s == nil || !s.Exempt() || s.class == nil {
			t.Errorf("an administrator's schema is %+v", s)
		}
		user := &auth.User{Name: "u", Groups: []string{"system:authenticated"}}
		if s := c.Classify(user, route); s == nil || s.name != "catch-all" {
			t.Errorf("a user's schema is %+v", s)
		}
		if err := c.Start(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if s := c.Classify(user, route); s.name != "global-default" {
			t.Errorf("after the start it is %+v", s)
		}
	})
}

// The objects are followed again after an error, until the server ends or the store is closed.
func TestFollowsAgainAfterAnError(t *testing.T) {
	t.Parallel()
	failing := func(times int) func() ([2]<-chan struct{}, error) {
		return func() (changed [2]<-chan struct{}, err error) {
			if times--; times >= 0 {
				err = errors.New("the revision is gone")
			}
			return changed, err
		}
	}
	testController(t, func(t *testing.T, c *Controller, _ *storetest.Faults) {
		began := time.Now()
		if _, ok := c.followAgain(t.Context(), failing(2)); !ok || time.Since(began) != 2*time.Second {
			t.Errorf("follows: %t, after %s", ok, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		if _, ok := c.followAgain(ctx, failing(1000)); ok || time.Since(began) != 92*time.Second {
			t.Errorf("follows: %t, after %s", ok, time.Since(began))
		}
		if err := c.o.Store.Close(); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.followAgain(t.Context(), failing(1000)); ok {
			t.Error("follows a closed store")
		}
	})
}
