package fault_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest/internal/fault"
)

// testRun is a run in a bubble.
type testRun struct {
	*testing.T
	run   *fault.Run
	began time.Time
	// user is a client without faults.
	user typed.ConfigMapInterface

	mu       sync.Mutex
	observed []string
}

// record records an observation with its time in seconds.
func (w *testRun) record(format string, values ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observed = append(w.observed, fmt.Sprintf("%ds ", int(time.Since(w.began).Seconds()))+fmt.Sprintf(format,
		values...))
}

func (w *testRun) create(c typed.ConfigMapInterface, name string) error {
	_, err := c.Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	return err
}

// disturbed runs a process with a plan of faults, beside a user, and compares the recorded observations.
func disturbed(t *testing.T, plan string, process func(*testRun, context.Context, typed.ConfigMapInterface),
	user func(*testRun), want ...string) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		history := fault.NewHistory()
		plane, err := bowline.Start(t.Context(),
			bowline.Options{Storage: history, Controllers: []string{bowline.NoControllers}})
		if err != nil {
			t.Fatal(err)
		}
		defer plane.Close()
		faults, err := fault.Parse(plan)
		if err != nil {
			t.Fatal(err)
		}
		inDefault := func(c *rest.Config) typed.ConfigMapInterface {
			return kubernetes.NewForConfigOrDie(c).CoreV1().ConfigMaps("default")
		}
		w := &testRun{T: t, began: time.Now(), user: inDefault(plane.RESTConfig())}
		w.run = fault.NewRun(fault.Options{
			Plan: faults, History: history, Next: plane.RESTConfig().Transport, Lag: 30 * time.Second,
			Down: 10 * time.Second,
		})
		p := w.run.Start(t.Context(), "test", func(ctx context.Context, config *rest.Config) error {
			process(w, ctx, inDefault(config))
			<-ctx.Done()
			return nil
		})
		time.Sleep(time.Second)
		user(w)
		time.Sleep(time.Minute)
		p.Stop()
		p.Wait()
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		if !slices.Equal(w.observed, want) {
			t.Errorf("got observations %q, want %q", w.observed, want)
		}
		if unreached := w.run.Unreached(); len(unreached) > 0 || len(w.run.Problems()) > 0 {
			t.Errorf("got unreached faults %v and problems %q, want none", unreached, w.run.Problems())
		}
	})
}

// creates creates the configmap a, once.
func creates(w *testRun, _ context.Context, c typed.ConfigMapInterface) {
	switch err := w.create(c, "a"); {
	case err == nil:
		w.record("made")
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		w.record("%s", apierrors.ReasonForError(err))
	default:
		w.record("no answer")
	}
}

// finds records whether the configmap a exists.
func finds(w *testRun) {
	if _, err := w.user.Get(w.Context(), "a", metav1.GetOptions{}); err != nil {
		w.record("there is none")
		return
	}
	w.record("there is one")
}

const creation = "create configmaps default/a #1 of test"

func TestCrashBeforeAWrite(t *testing.T) {
	disturbed(t, "crash before: "+creation, creates, finds, "0s no answer", "1s there is none", "10s made")
}

func TestCrashAfterAWrite(t *testing.T) {
	disturbed(t, "crash after: "+creation, creates, finds, "0s no answer", "1s there is one", "10s AlreadyExists")
}

func TestRefusedWrite(t *testing.T) {
	disturbed(t, "refused: "+creation, creates, finds, "0s InternalError", "1s there is none")
}

// client-go retries after the second that Retry-After asks for.
func TestThrottledWrite(t *testing.T) {
	disturbed(t, "throttled: "+creation, creates, func(*testRun) {}, "1s made")
}

func TestLostAnswer(t *testing.T) {
	disturbed(t, "answer lost: "+creation, creates, finds, "0s no answer", "1s there is one")
}

func TestConflict(t *testing.T) {
	disturbed(t, "conflict: update configmaps default/a #1 of test",
		func(w *testRun, ctx context.Context, c typed.ConfigMapInterface) {
			creates(w, ctx, c)
			o, err := c.Get(ctx, "a", metav1.GetOptions{})
			if err == nil {
				_, err = c.Update(ctx, o, metav1.UpdateOptions{})
			}
			w.record("%s", apierrors.ReasonForError(err))
		}, func(*testRun) {}, "0s made", "0s Conflict")
}

// watches records the events that it receives, and creates the configmap own after the event for a.
func watches(w *testRun, ctx context.Context, c typed.ConfigMapInterface) {
	watching, err := c.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		w.Error(err)
		return
	}
	go func() {
		for e := range watching.ResultChan() {
			if ctx.Err() != nil {
				return
			}
			if e.Type == watch.Error {
				w.record("%s", apierrors.ReasonForError(apierrors.FromObject(e.Object)))
				continue
			}
			name := e.Object.(*corev1.ConfigMap).Name
			w.record("%s %s", e.Type, name)
			if name == "a" && e.Type == watch.Added {
				if err := w.create(c, "own"); err != nil {
					w.record("own exists")
				}
			}
		}
		if ctx.Err() == nil {
			w.record("end")
		}
	}()
}

// createsTwo creates a as the user and, seconds later, b.
func createsTwo(w *testRun) {
	for _, name := range []string{"a", "b"} {
		if err := w.create(w.user, name); err != nil {
			w.Error(err)
		}
		time.Sleep(4 * time.Second)
	}
}

const event = "ADDED configmaps default/a #1 of test"

func TestUndisturbed(t *testing.T) {
	disturbed(t, "undisturbed", watches, createsTwo, "1s ADDED a", "1s ADDED own", "5s ADDED b")
}

// Later events are late too, since a watch preserves their order.
func TestDelayedEvent(t *testing.T) {
	disturbed(t, "delayed: "+event, watches, createsTwo, "31s ADDED a", "31s ADDED b", "31s ADDED own")
}

func TestDoubledEvent(t *testing.T) {
	disturbed(t, "doubled: "+event, watches, createsTwo,
		"1s ADDED a", "1s ADDED a", "1s own exists", "1s ADDED own", "5s ADDED b")
}

// A watch has no silent gaps: it ends with 410 Gone.
func TestDroppedEvent(t *testing.T) {
	disturbed(t, "dropped: "+event, watches, createsTwo, "31s Expired", "31s end")
}

func TestCacheBehindItsOwnWrite(t *testing.T) {
	disturbed(t, "cache behind after: create configmaps default/own #1 of test", watches, createsTwo,
		"1s ADDED a", "31s ADDED own", "31s ADDED b")
}

// lists records the number of configmaps after two seconds, when the user has created a.
func lists(version string) func(*testRun, context.Context, typed.ConfigMapInterface) {
	return func(w *testRun, ctx context.Context, c typed.ConfigMapInterface) {
		time.Sleep(2 * time.Second)
		list, err := c.List(ctx, metav1.ListOptions{ResourceVersion: version})
		if err != nil {
			w.Error(err)
			return
		}
		w.record("%d there", len(list.Items))
	}
}

const listing = "stale: list configmaps default/* #1 of test"

// A list that accepts any version gets the state before the last change.
func TestStaleListOfAnyVersion(t *testing.T) {
	disturbed(t, listing, lists("0"), createsTwo, "2s 0 there")
}

// A list of the current state gets that state, late.
func TestStaleListOfNow(t *testing.T) {
	disturbed(t, listing, lists(""), createsTwo, "32s 1 there")
}
