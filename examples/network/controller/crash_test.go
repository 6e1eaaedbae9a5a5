package controller_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider/record"
)

// writeBudget limits the number of writes, to the server and to the provider, that a controller may complete. All
// later writes fail without effect, as if the process had been killed.
type writeBudget struct {
	mu   sync.Mutex
	left int
}

var errDead = errors.New("the process has been killed")

func (b *writeBudget) use() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == 0 {
		return errDead
	}
	b.left--
	return nil
}

func (b *writeBudget) exhausted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left == 0
}

// limitedTransport counts write requests.
type limitedTransport struct {
	*writeBudget
	http.RoundTripper
}

func (m limitedTransport) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method != http.MethodGet {
		if err := m.use(); err != nil {
			return nil, err
		}
	}
	return m.RoundTripper.RoundTrip(q)
}

// limitedFiles counts writes and removals of files.
type limitedFiles struct {
	*writeBudget
	*record.Memory
}

func (m limitedFiles) Write(name string, data []byte) error {
	if err := m.use(); err != nil {
		return err
	}
	return m.Memory.Write(name, data)
}

func (m limitedFiles) Remove(name string) error {
	if err := m.use(); err != nil {
		return err
	}
	return m.Memory.Remove(name)
}

// runLimited starts a controller whose writes fail after the given number of steps.
func (w *fixture) runLimited(steps int) (running, *writeBudget) {
	b := &writeBudget{left: steps}
	config := w.plane.RESTConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return limitedTransport{b, next} })
	return w.run(config, limitedFiles{b, w.files}), b
}

// Whatever step a killed controller completed last, its successor finishes the work: each network exists once
// and is removed with its object.
func TestCrashAfterAnyStepCreatesNetworkOnce(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.define()
		finished := false
		for steps := 0; !finished; steps++ {
			n := w.declare("a", "192.168.0.0/16", "192.168.0.1")
			first, b := w.runLimited(steps)
			waitIdle()
			finished = !b.exhausted()
			first.stop()

			second := w.run(nil, nil)
			waitIdle()
			w.expectNetworks(n.UID)
			w.expectReady(w.get(v1.SchemeGroupVersion, "a"), metav1.ConditionTrue, v1.ReasonProvisioned)
			w.delete(v1.SchemeGroupVersion, "a")
			waitIdle()
			w.expectNetworks()
			second.stop()
		}
	})
}

func TestCrashAfterAnyStepOfDeletionLeavesNothing(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.define()
		finished := false
		for steps := 0; !finished; steps++ {
			w.declare("a", "192.168.0.0/16", "192.168.0.1")
			before := w.run(nil, nil)
			waitIdle()
			before.stop()
			w.delete(v1.SchemeGroupVersion, "a")

			first, b := w.runLimited(steps)
			waitIdle()
			finished = !b.exhausted()
			first.stop()

			second := w.run(nil, nil)
			waitIdle()
			w.expectNetworks()
			if page, err := w.networks(v1.SchemeGroupVersion).List(w.Context(), "", metav1.ListOptions{}); err != nil ||
				len(page.Items) > 0 {
				w.Errorf("crash after %d steps: the object still exists: %v", steps, err)
			}
			second.stop()
		}
	})
}

// Networks whose objects were deleted while no controller ran are swept; those of another plane are not.
func TestSweepRemovesOrphans(t *testing.T) {
	withFixture(t, func(w *fixture) {
		const theirs = "bowline.other.11111111-2222-3333-4444-555555555555.json"
		for _, name := range []string{file("lost"), theirs} {
			if err := w.files.Write(name, []byte("{}")); err != nil {
				w.Fatal(err)
			}
		}
		first := w.run(nil, nil)
		waitIdle()
		if got := w.records(); len(got) != 1 {
			w.Errorf("the remaining records are %q, want only that of the other plane", got)
		}
		w.define()
		n := w.declare("a", "192.168.0.0/16", "192.168.0.1")
		waitIdle()
		first.stop()

		w.patch(v1.SchemeGroupVersion, "a", `{"metadata":{"finalizers":null}}`)
		w.delete(v1.SchemeGroupVersion, "a")
		defer w.run(nil, nil).stop()
		waitIdle()
		if got := w.records(); len(got) != 1 {
			w.Errorf("the remaining records are %q, want only that of the other plane, not that of %s", got, n.UID)
		}

		// While the controller runs, a network that appears without an object is swept too.
		if err := w.files.Write(file("stray"), []byte("{}")); err != nil {
			w.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := w.records(); len(got) != 1 {
			w.Errorf("the remaining records are %q, want only that of the other plane", got)
		}
	})
}
