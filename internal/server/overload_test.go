package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func named() io.Reader { return strings.NewReader(`{"metadata":{"generateName":"flood-"}}`) }

// unread is a body that must not be read.
type unread struct{ read *atomic.Int32 }

func (u unread) Read([]byte) (int, error) { u.read.Add(1); return 0, io.EOF }

// longest is the maximum delay of a 429.
const longest = 1500 * time.Millisecond

// A flood is rejected with 429 soon and before its bodies are read. Other users, and other programs of the
// same user, do not wait. The rest of the flood waits for at most a quarter of its time.
func TestFloodGetsTooManyRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startOverload(t)
		flooder := c.as(t, "flooder", "flood/1.0")
		first := flooder.flood(t, 1000, http.MethodPost, configMaps, func() io.Reader {
			return io.MultiReader(named())
		})
		time.Sleep(longest) // a 429 may be delayed that long
		waiting, working, _ := c.counts(t)
		if working == 0 || waiting < working || first.codes[http.StatusTooManyRequests] != 1000-waiting-working {
			t.Errorf("%d requests run, %d wait, answers %v", working, waiting, first.codes)
		}
		first.last.wantError(t, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, `user "flooder"`)
		if after := first.last.header.Get("Retry-After"); after != "1" {
			t.Errorf("Retry-After %q, want 1", after)
		}
		var read atomic.Int32
		secondStart := time.Now()
		second := flooder.flood(t, 100, http.MethodPost, configMaps, func() io.Reader { return unread{&read} })
		second.Wait()
		if took := time.Since(secondStart); second.codes[http.StatusTooManyRequests] != 100 || read.Load() != 0 ||
			took > longest {
			t.Errorf("answers %v after %s; %d bodies were read", second.codes, took, read.Load())
		}
		start := time.Now()
		for _, other := range []*testPlane{c.as(t, "bystander", "flood/1.0"), c.as(t, "flooder", "kubectl/1.37")} {
			for i := range 20 {
				name := fmt.Sprintf("%s-%d", strings.ToLower(other.config.UserAgent[:5]), i)
				other.send(t, http.MethodPost, "/api/v1/namespaces/default/secrets",
					`{"metadata":{"name":"`+name+`"}}`).want(t, http.StatusCreated)
				other.get(t, "/api/v1/namespaces/default/secrets/"+name).want(t, http.StatusOK)
			}
			other.send(t, http.MethodDelete, "/api/v1/namespaces/default/secrets", "").want(t, http.StatusOK)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("other users waited for %s", took)
		}
		time.Sleep(15 * time.Second)
		if stillWaiting, stillWorking, _ := c.counts(t); stillWaiting != 0 || stillWorking != working {
			t.Errorf("after 15 s %d requests wait and %d run, want 0 and %d", stillWaiting, stillWorking, working)
		}
		c.release()
		first.Wait()
		if first.codes[http.StatusCreated] != working || first.codes[http.StatusTooManyRequests] != 1000-working {
			t.Errorf("answers %v, want %d created", first.codes, working)
		}
		c.wantIdle(t)
	})
}

// An unmodified client-go retries after a 429: a flood only costs it time.
func TestClientGoRetriesAfterTooManyRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startOverload(t)
		flooder := c.as(t, "flooder", "same")
		first := flooder.flood(t, 1000, http.MethodPost, configMaps, named)
		start := time.Now()
		time.AfterFunc(10*time.Second, c.release)
		got := must(flooder.clients.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}))(t)
		if took := time.Since(start); got.Name != "default" || took < 10*time.Second ||
			took > 10*time.Second+longest+time.Second {
			t.Errorf("answered after %s, want between 10s, when seats are free, and %s", took,
				10*time.Second+longest+time.Second)
		}
		first.Wait()
		c.wantIdle(t)
	})
}

// heaviest is the maximum number of seats of a request.
const heaviest = 32

// Large bodies take more seats, so that few are in memory at once. A body of unknown length counts as the
// largest.
func TestLargeBodiesTakeMoreSeats(t *testing.T) {
	t.Parallel()
	large := `{"metadata":{"generateName":"large-"}}` + strings.Repeat(" ", 2<<20)
	for name, body := range map[string]func() io.Reader{
		"announced":   func() io.Reader { return strings.NewReader(large) },
		"unannounced": func() io.Reader { return io.MultiReader(strings.NewReader(large)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := startOverload(t)
				count, most := 10*cores(), cores()
				sent := c.as(t, "flooder", "").flood(t, count, http.MethodPost, configMaps, body)
				if waiting, working, seats := c.counts(t); working != most || waiting != count-most ||
					seats != heaviest*most {
					t.Errorf("%d requests run, %d wait, %d seats are held; want %d, %d and %d each", working, waiting,
						seats,
						most, count-most, heaviest)
				}
				c.release()
				sent.Wait()
				if sent.codes[http.StatusCreated] != count {
					t.Errorf("answers %v", sent.codes)
				}
				c.wantIdle(t)
			})
		})
	}
}

// Slow bodies hold their seats for a bounded time, and other users do not wait meanwhile.
func TestSlowBodiesTimeOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startOverload(t)
		slow := c.as(t, "slow", "").flood(t, 1000, http.MethodPost, "/api/v1/namespaces/default/secrets", newTrickle)
		began := time.Now()
		other := c.as(t, "bystander", "")
		other.get(t, "/api/v1/namespaces/default").want(t, http.StatusOK)
		if took := time.Since(began); took != 0 {
			t.Errorf("another user waited for %s", took)
		}
		slow.Wait()
		if took := time.Since(began); took > 75*time.Second || slow.codes[http.StatusGatewayTimeout] == 0 ||
			slow.codes[http.StatusCreated] != 0 {
			t.Errorf("after %s: %v", took, slow.codes)
		}
		c.wantIdle(t)
	})
}

// trickle is a body that delivers a byte a second until it is closed.
type trickle struct{ closed chan struct{} }

func newTrickle() io.Reader { return trickle{make(chan struct{}, 10)} }

func (b trickle) Close() error {
	b.closed <- struct{}{}
	return nil
}

func (b trickle) Read(p []byte) (int, error) {
	select {
	case <-time.After(time.Second):
		p[0] = ' '
		return 1, nil
	case <-b.closed:
		return 0, io.ErrClosedPipe
	}
}

// Open watches hold no seats, with or without the initial state. The watches start in groups that may all
// wait, since a user who starts all at the same time is a flood.
func TestOpenWatchesHoldNoSeats(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"?watch=1", "?watch=1&resourceVersion=0",
		"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := startOverload(t)
				w := c.as(t, "watcher", "")
				var open sync.WaitGroup
				ctx, cancel := context.WithCancel(t.Context())
				for range 10 {
					for range 50 {
						open.Go(func() { w.try(ctx, http.MethodGet, "/api/v1/namespaces"+query, http.NoBody) })
					}
					synctest.Wait()
				}
				c.wantIdle(t)
				if open := series(c.plane.scrape(t), "apiserver_longrunning_requests"); len(open) != 1 ||
					!strings.HasSuffix(open[0], " 500") {
					t.Errorf("open watches: %v", open)
				}
				cancel()
				open.Wait()
				c.wantIdle(t)
			})
		})
	}
}

// A request that is canceled while it waits is not run later.
func TestCanceledRequestLeavesQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startOverload(t)
		w := c.as(t, "user", "same")
		working := w.flood(t, 64*cores()/2, http.MethodPost, configMaps, named)
		ctx, cancel := context.WithCancel(t.Context())
		var canceled sync.WaitGroup
		for range 50 {
			canceled.Go(func() {
				w.try(ctx, http.MethodPost, "/api/v1/namespaces/default/secrets", named(), "User-Agent", "same")
			})
		}
		if waiting, _, _ := c.counts(t); waiting != 50 {
			t.Errorf("%d wait, want 50", waiting)
		}
		cancel()
		canceled.Wait()
		if waiting, _, _ := c.counts(t); waiting != 0 {
			t.Errorf("%d canceled requests still wait", waiting)
		}
		c.release()
		working.Wait()
		if got := c.plane.names(t, "/api/v1/namespaces/default/secrets"); got != "" {
			t.Errorf("stored %q", got)
		}
		c.wantIdle(t)
	})
}

// Health checks and requests of the process itself are served even if no seat is free.
func TestHealthChecksNeedNoSeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startOverload(t)
		var floods []*flood
		for i := range 20 {
			for j := range 20 {
				floods = append(floods, c.as(t, fmt.Sprint("user", i), fmt.Sprint("program", j)).flood(t, 10,
					http.MethodPost, configMaps, named))
			}
		}
		stranger := c.as(t, "stranger", "")
		if _, _, seats := c.counts(t); seats < 90*cores() {
			t.Errorf("only %d seats are held", seats)
		}
		began := time.Now()
		for _, path := range []string{"/livez", "/readyz", "/healthz", "/livez/ping"} {
			stranger.get(t, path).want(t, http.StatusOK)
		}
		c.plane.get(t, "/api/v1/namespaces/default").want(t, http.StatusOK)
		if took := time.Since(began); took != 0 {
			t.Errorf("the requests waited for %s", took)
		}
		c.release()
		for _, f := range floods {
			f.Wait()
		}
		c.wantIdle(t)
	})
}

// cores returns the number of cores from which the seats are derived.
func cores() int { return max(2, runtime.GOMAXPROCS(0)) }
