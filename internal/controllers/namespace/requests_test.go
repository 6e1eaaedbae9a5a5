package namespace_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
)

// requestCounter counts the controller's requests. Each list of pods is delayed.
type requestCounter struct {
	mu    sync.Mutex
	times map[string]int
	slow  time.Duration
}

func (a *requestCounter) through(next http.RoundTripper) http.RoundTripper {
	return transport(func(q *http.Request) (*http.Response, error) {
		what := q.Method + " " + q.URL.Path
		a.mu.Lock()
		if a.times == nil {
			a.times = map[string]int{}
		}
		a.times[what]++
		a.mu.Unlock()
		if what == listsPods {
			time.Sleep(a.slow)
		}
		return next.RoundTrip(q)
	})
}

const (
	looks     = "GET /api" // the first request of each pass
	listsPods = "GET /api/v1/namespaces/doomed/pods"
)

// count returns how often a request was made.
func (a *requestCounter) count(what string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.times[what]
}

// run creates pods on a node.
func (w *fixture) run(count int) {
	w.t.Helper()
	create(w, nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "real"}})
	for i := range count {
		create(w, pods, boundPod(fmt.Sprint("p", i), "real"))
	}
}

// The controller's own status updates trigger no further pass.
func TestTerminatingPodsArePolledWithBackoff(t *testing.T) {
	t.Parallel()
	a := &requestCounter{slow: 5 * time.Millisecond}
	runFixtureWith(t, fixtureOptions{through: a.through}, func(w *fixture) {
		const count = 200
		w.run(count)
		w.doom()
		all := client.Of[*corev1.Pod](w.client, pods)
		for i := range count {
			time.Sleep(5 * time.Millisecond)
			ended := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
			if err := all.Delete(w.t.Context(), "doomed", fmt.Sprint("p", i), ended); err != nil {
				w.t.Fatal(err)
			}
		}
		updates, passes := a.count("PUT /api/v1/namespaces/doomed/status"), a.count(looks)
		if updates < 2 || updates > 10 || passes > 10 {
			w.t.Errorf("in a second: got %d passes and %d status updates, want at most 10 and 2 to 10", passes, updates)
		}
		time.Sleep(time.Minute)
		if w.remains() {
			w.t.Error("the namespace still exists")
		}
	})
}

// A pass gets each node once, however many pods are on it, and lists the pods twice.
func TestNodesAreReadOncePerPass(t *testing.T) {
	t.Parallel()
	a := &requestCounter{}
	runFixtureWith(t, fixtureOptions{through: a.through}, func(w *fixture) {
		w.run(20)
		w.doom()
		time.Sleep(time.Minute)
		passes, reads, lists := a.count(looks), a.count("GET /api/v1/nodes/real"), a.count(listsPods)
		if passes < 2 || reads != passes || lists != 2*passes {
			w.t.Errorf("in %d passes: got %d reads of the node and %d lists of pods, want one and two per pass", passes,
				reads,
				lists)
		}
	})
}

// Label changes by other clients trigger no pass.
func TestLabelChangesTriggerNoPass(t *testing.T) {
	t.Parallel()
	a := &requestCounter{}
	runFixtureWith(t, fixtureOptions{through: a.through}, func(w *fixture) {
		create(w, configmaps, &corev1.ConfigMap{ObjectMeta: meta("held", "example.com/hold")})
		w.doom()
		time.Sleep(time.Hour)
		before := a.count(looks)
		for i := range 100 {
			patch := fmt.Appendf(nil, `{"metadata":{"labels":{"n":"%d"}}}`, i)
			_, err := w.namespaces.Patch(w.t.Context(), "", "doomed", "", types.MergePatchType, patch,
				metav1.PatchOptions{})
			if err != nil {
				w.t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if passes := a.count(looks) - before; passes > 1 {
			w.t.Errorf("in a second: got %d passes, want at most 1", passes)
		}
	})
}
