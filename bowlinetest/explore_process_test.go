package bowlinetest_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// repeat calls do periodically until ctx ends.
func repeat(ctx context.Context, pause time.Duration, do func()) error {
	for {
		do()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// labels sets a label on all configmaps that lack it, with an update of the whole object that discards
// everything set by others.
func labels(versioned bool) main {
	return func(ctx context.Context, c typed.ConfigMapInterface) error {
		return repeat(ctx, time.Second, func() {
			list, _ := c.List(ctx, metav1.ListOptions{LabelSelector: "!done"})
			if list == nil {
				return
			}
			for _, o := range list.Items {
				update := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: o.Name,
					Labels: map[string]string{"done": "yes"}}}
				if versioned {
					update.ResourceVersion = o.ResourceVersion
				}
				c.Update(ctx, update, metav1.UpdateOptions{}) // an error is retried in the next pass
			}
		})
	}
}

// The end state does not show the overwritten change, because it is the one that Explore made.
func TestExploreFindsLostUpdate(t *testing.T) {
	t.Parallel()
	s := scenario(labels(false))
	s.Faults = []bowlinetest.Fault{bowlinetest.Conflict}
	finds(t, s, "lost update of configmaps default/a: test overwrote another client's change")
	s = scenario(labels(true))
	s.Faults = []bowlinetest.Fault{bowlinetest.Conflict}
	if r := bowlinetest.Search(t, s); len(r.Failures) > 0 || r.Tried() < 2 {
		t.Errorf("overwriting a change that was read failed: %s\n%s", r, r.Smallest())
	}
}

// A conflict needs an existing object: a write that creates the object, or does not find it, has no such
// fault.
func TestNoConflictForMissingObjects(t *testing.T) {
	t.Parallel()
	s := scenario(func(ctx context.Context, c typed.ConfigMapInterface) error {
		c.Update(ctx, configMap("never"), metav1.UpdateOptions{})
		return applies(ctx, c)
	})
	s.Faults = []bowlinetest.Fault{bowlinetest.Conflict}
	r := bowlinetest.Search(t, s)
	if len(r.Failures) > 0 || len(r.Unreached) > 0 || r.Tried() == 0 {
		t.Fatalf("%s\n%s", r, r.Smallest())
	}
	s.Replay = "conflict: update configmaps default/never #1 of test"
	if r := bowlinetest.Search(t, s); r.Tried() != 0 || len(r.Unreached) != 1 {
		t.Errorf("unexpected failure without a concurrent change: %s", r)
	}
}

// applies applies the same configmap once a minute, which mostly changes nothing.
func applies(ctx context.Context, c typed.ConfigMapInterface) error {
	return repeat(ctx, time.Minute, func() {
		wanted := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"mine"},"data":{"k":"v"}}`)
		c.Patch(ctx, "mine", types.ApplyPatchType, wanted, metav1.PatchOptions{FieldManager: "test"})
	})
}

func TestNoOpWritesAreSettled(t *testing.T) {
	t.Parallel()
	s := scenario(applies)
	s.Faults = []bowlinetest.Fault{bowlinetest.Refused}
	if r := bowlinetest.Search(t, s); len(r.Failures) > 0 || r.Tried() == 0 {
		t.Errorf("%s\n%s", r, r.Smallest())
	}
}

// A request every two seconds is no hot loop, even over hours.
func TestExploreRunsForHours(t *testing.T) {
	t.Parallel()
	s := scenario(func(ctx context.Context, c typed.ConfigMapInterface) error {
		return repeat(ctx, 2*time.Second, func() { c.Get(ctx, "lease", metav1.GetOptions{}) })
	})
	s.Act = func(context.Context, *rest.Config) error {
		time.Sleep(6 * time.Hour)
		return nil
	}
	s.Skip = func(bowlinetest.Point) bool { return true }
	if r := bowlinetest.Search(t, s); len(r.Failures) > 0 {
		t.Errorf("%s\n%s", r, r.Smallest())
	}
}

// Requests of a crashed process fail at once, but virtual time passes even if the process retries in a loop.
// It leaks a goroutine, so the test runs in its own process.
func TestExploreEndsEndlessRetries(t *testing.T) {
	t.Parallel()
	fails(t, scenario(func(ctx context.Context, c typed.ConfigMapInterface) error {
		for {
			if w, err := c.Watch(context.WithoutCancel(ctx), metav1.ListOptions{}); err == nil {
				for range w.ResultChan() {
				}
			}
		}
	}), "test has not returned")
}

// spins loops after its context has ended, without sending requests or waiting, so it cannot be ended.
func spins(ctx context.Context, c typed.ConfigMapInterface) error {
	for {
		c.Get(ctx, "a", metav1.GetOptions{})
		if ctx.Err() == nil {
			time.Sleep(time.Second)
		}
	}
}

func TestExploreReportsBusyLoop(t *testing.T) {
	t.Parallel()
	s := scenario(spins)
	s.Stuck = 10 * time.Second
	fails(t, s, "a run is stuck", "no virtual time has passed in 10s", "bowlinetest_test.spins(",
		"repeat: BOWLINE_EXPLORE=")
}

// sharedLock is a lock that runs must not share.
var sharedLock sync.Mutex

func TestExploreReportsExternalLock(t *testing.T) {
	t.Parallel()
	s := scenario(func(context.Context, typed.ConfigMapInterface) error {
		sharedLock.Lock()
		sharedLock.Lock()
		return nil
	})
	s.Stuck = 10 * time.Second
	fails(t, s, "a run is stuck", "sync.(*Mutex).Lock")
}

// blockForever blocks forever.
func blockForever(context.Context, *rest.Config) error {
	<-make(chan int)
	return nil
}

func TestExploreReportsStuckUser(t *testing.T) {
	t.Parallel()
	s := scenario(idles)
	s.Act = blockForever
	fails(t, s, "does not end", "the user's code has not returned", "bowlinetest_test.blockForever(",
		"repeat: BOWLINE_EXPLORE=")
}

func TestExploreReportsStuckSetup(t *testing.T) {
	t.Parallel()
	s := scenario(idles)
	s.Setup = blockForever
	fails(t, s, "deadlock in the run", "bowlinetest_test.blockForever(")
}

// A user who returns when the context ends leaks nothing, and the run is an ordinary failure.
func TestExploreEndsStuckUser(t *testing.T) {
	t.Parallel()
	s := scenario(idles)
	s.Act = func(ctx context.Context, _ *rest.Config) error {
		<-ctx.Done()
		return ctx.Err()
	}
	finds(t, s, "the run does not end: after 175200h0m0s") // 20 years
}

// If only a fault makes the user wait forever, the limit follows from the duration of the undisturbed run.
func TestExploreFindsMissedCondition(t *testing.T) {
	t.Parallel()
	s := scenario(func(ctx context.Context, c typed.ConfigMapInterface) error {
		c.Create(ctx, configMap("once"), metav1.CreateOptions{}) // without a retry
		<-ctx.Done()
		return nil
	})
	s.Act = func(ctx context.Context, config *rest.Config) error {
		c := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
		for ctx.Err() == nil {
			if _, err := c.Get(ctx, "once", metav1.GetOptions{}); err == nil {
				break
			}
			time.Sleep(time.Minute)
		}
		return nil
	}
	s.Faults = []bowlinetest.Fault{bowlinetest.Refused}
	if f := finds(t, s, "the run does not end: after 25h0m0s"); len(f.Kinds) != 1 {
		t.Errorf("found in %s", f.Replay)
	}
}

// A socket would keep virtual time from advancing.
func TestExploreRejectsSocket(t *testing.T) {
	t.Parallel()
	s := lucky()
	s.Options = []bowlinetest.Option{bowlinetest.Socket()}
	fails(t, s, "a Bubble cannot have a Socket")
}

// closing is a Storage that counts its calls of Close.
type closing struct {
	bowline.Storage
	count *atomic.Int32
}

func (c closing) Close() error { c.count.Add(1); return c.Storage.Close() }

// Every run sets a Storage that Explore does not use. It closes each of them.
func TestExploreClosesStorageOfOptions(t *testing.T) {
	t.Parallel()
	var opened, closed atomic.Int32
	s := lucky()
	s.Options = append(s.Options, bowlinetest.With(func(o *bowline.Options) {
		opened.Add(1)
		o.Storage = closing{memory.New(), &closed}
	}))
	bowlinetest.Search(t, s)
	if opened.Load() == 0 || opened.Load() != closed.Load() {
		t.Errorf("%d storages were opened and %d closed, want both equal", opened.Load(), closed.Load())
	}
}
