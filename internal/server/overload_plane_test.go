package server_test

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/inprocess"
)

// overload is a plane with users outside of its process, in a bubble: each user has its own client. Writes of
// config maps are blocked until their deadline, or until the test releases them.
type overload struct {
	plane   *testPlane
	outside *inprocess.Transport
	release context.CancelFunc
}

// holding blocks writes of config maps until it ends.
type holding struct {
	blocking
	ended context.Context
}

func (h *holding) Admit(ctx context.Context, _ *admission.Attributes, _ admission.Reader) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-h.ended.Done():
		return nil
	}
}

func startOverload(t *testing.T) *overload {
	t.Helper()
	ended, release := context.WithCancel(t.Context())
	c := &overload{release: release, plane: start(t, func(o *bowline.Options) {
		o.Plugins = []admission.Plugin{&holding{ended: ended}}
	})}
	handler := c.plane.Handler()
	c.outside = inprocess.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = "192.0.2.1:12345"
		if r.ContentLength == 0 && r.Body != http.NoBody {
			r.ContentLength = -1 // unknown, as for requests over a socket
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(c.outside.Close)
	return c
}

// as returns a client of the plane as a user's program.
func (c *overload) as(t *testing.T, user, program string) *testPlane {
	t.Helper()
	who := auth.NewUser(user, auth.AdminGroup)
	config := c.outside.As(func(ctx context.Context) context.Context { return auth.WithUser(ctx, who) }).RESTConfig()
	config.UserAgent = program
	w := &testPlane{Plane: c.plane.Plane}
	w.connect(t, config)
	return w
}

// counts are the plane's metrics of waiting and running requests, and of their seats.
func (c *overload) counts(t *testing.T) (waiting, working, seats int) {
	t.Helper()
	synctest.Wait()
	scraped := c.plane.scrape(t)
	value := func(name string) int {
		found := regexp.MustCompile(`(?m)^apiserver_flowcontrol_` + name + `\{.*\} (.*)$`).FindStringSubmatch(scraped)
		if found == nil {
			t.Fatalf("no %s in\n%s", name, scraped)
		}
		return must(strconv.Atoi(found[1]))(t)
	}
	return value("current_inqueue_requests"), value("current_executing_requests"), value("current_executing_seats")
}

// wantIdle fails the test unless no request waits, runs or holds seats.
func (c *overload) wantIdle(t *testing.T) {
	t.Helper()
	if waiting, working, seats := c.counts(t); waiting != 0 || working != 0 || seats != 0 {
		t.Errorf("at the end %d requests wait, %d run and %d seats are held, want 0 each", waiting, working, seats)
	}
}

// flood holds the answers to requests that were sent together.
type flood struct {
	sync.WaitGroup
	mu    sync.Mutex
	codes map[int]int
	// last is the last answer of 429.
	last response
}

// flood sends requests, each with its own body.
func (w *testPlane) flood(t *testing.T, count int, method, path string, body func() io.Reader) *flood {
	t.Helper()
	f := &flood{codes: map[int]int{}}
	for range count {
		f.Go(func() {
			r, err := w.try(t.Context(), method, path, body(), "User-Agent", w.config.UserAgent)
			f.mu.Lock()
			defer f.mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if f.codes[r.code]++; r.code == http.StatusTooManyRequests {
				f.last = r
			}
		})
	}
	synctest.Wait()
	return f
}
