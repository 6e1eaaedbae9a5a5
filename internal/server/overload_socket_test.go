package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/auth"
)

// A flood over real connections does not affect another user: during 500 concurrent requests of one user,
// creates of 256 KiB and lists of everything, the gets and creates of another user succeed, and are faster
// than those of the flood. The heap stays bounded. The test runs alone, because it measures the heap of the process.
func TestFloodDoesNotDelayOtherUsers(t *testing.T) {
	w := startTLS(t)
	connect := func(user string) *testPlane {
		other := &testPlane{Plane: w.Plane}
		other.connect(t, must(w.IssueClient(user, auth.AdminGroup))(t))
		return other
	}
	for i := range 200 {
		cm := configMap("stored-"+string(rune('a'+i/26))+string(rune('a'+i%26)), "k",
			string(bytes.Repeat([]byte("x"), 10<<10)))
		must(w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}))(t)
	}
	flooder, bystander := connect("flooder"), connect("bystander")
	must(bystander.clients.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}))(t) // connects
	ctx, cancel := context.WithCancel(t.Context())
	flooded := &latencies{saturated: make(chan struct{})}
	var flood sync.WaitGroup
	for i := range 500 {
		flood.Go(func() { flooder.floodOver(ctx, i%2 == 0, flooded) })
	}
	<-flooded.saturated
	others := &latencies{}
	for i := range 50 {
		name := "beside-" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		others.time(func() (int, error) {
			_, err := bystander.clients.CoreV1().ConfigMaps("kube-public").Create(t.Context(), configMap(name),
				metav1.CreateOptions{})
			return 0, err
		})
		others.time(func() (int, error) {
			_, err := bystander.clients.CoreV1().ConfigMaps("kube-public").Get(t.Context(), name, metav1.GetOptions{})
			return 0, err
		})
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	cancel()
	flood.Wait()
	p90, theirs := others.percentile(t, 90), flooded.percentile(t, 50)
	t.Logf("a get or create beside the flood: p50 %s, p99 %s; the flood's others requests: p50 %s, %d refused; heap %d MiB",
		others.percentile(t, 50), others.percentile(t, 99), theirs, flooded.refused, memory.HeapAlloc>>20)
	if p90 > theirs {
		t.Errorf("p90 of the bystander is %s, more than the flood's median of %s", p90, theirs)
	}
	if flooded.refused == 0 || others.refused > 0 {
		t.Errorf("%d requests of the flood and %d of the bystander were rejected, want some and 0", flooded.refused,
			others.refused)
	}
	if memory.HeapAlloc > 512<<20 {
		t.Errorf("%d MiB in use", memory.HeapAlloc>>20)
	}
}

// latencies are the durations of requests.
type latencies struct {
	mu      sync.Mutex
	took    []time.Duration
	refused int
	err     error
	// saturated is closed at the first rejection, when the flood has reached its maximum.
	saturated chan struct{}
}

func (l *latencies) time(request func() (code int, err error)) {
	began := time.Now()
	code, err := request()
	took := time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = errors.Join(l.err, err)
	l.took = append(l.took, took)
	if code == http.StatusTooManyRequests {
		if l.refused++; l.refused == 1 {
			close(l.saturated)
		}
	}
}

// percentile returns a percentile of the durations. It fails the test if a request had no answer.
func (l *latencies) percentile(t *testing.T, percent int) time.Duration {
	t.Helper()
	if l.err != nil {
		t.Error(l.err)
	}
	slices.Sort(l.took)
	return l.took[len(l.took)*percent/100]
}

// floodOver sends requests, one after the other, until ctx ends.
func (w *testPlane) floodOver(ctx context.Context, lists bool, l *latencies) {
	for ctx.Err() == nil {
		l.time(func() (int, error) {
			method, path, body := http.MethodPost, configMaps+"?dryRun=All",
				[]byte(`{"metadata":{"generateName":"flood-"}}`)
			if lists {
				method, path, body = http.MethodGet, configMaps, nil
			} else {
				body = append(body, bytes.Repeat([]byte(" "), 256<<10)...)
			}
			var sent io.Reader = http.NoBody
			if body != nil {
				sent = bytes.NewReader(body)
			}
			r, err := w.try(ctx, method, path, sent)
			if ctx.Err() != nil {
				err = nil
			}
			return r.code, err
		})
	}
}
