package inflight_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/internal/inflight"
)

func request(path string) *http.Request {
	return &http.Request{Method: http.MethodPost, URL: &url.URL{Path: path}}
}

// TestWaitNamesRequests ends requests in several orders, and checks what Wait returns before and after.
func TestWaitNamesRequests(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}} {
		synctest.Test(t, func(t *testing.T) {
			var s inflight.Requests
			var open [3]*inflight.Request
			for i := range open {
				q, ok := s.Begin(request(fmt.Sprintf("/%d\x1b", i)))
				if !ok {
					t.Fatal("a request was refused before Close")
				}
				open[i] = q
			}
			s.Close()
			if _, ok := s.Begin(request("/late")); ok {
				t.Error("a request was accepted after Close")
			}
			left := map[int]bool{0: true, 1: true, 2: true}
			for _, i := range order {
				err := wait(t, &s)
				for n := range open {
					name := fmt.Sprintf("POST /%d%%1B (for ", n)
					if err == nil || strings.Contains(err.Error(), name) != left[n] {
						t.Errorf("ended in the order %v: got error %v, want %q in it: %t", order, err, name, left[n])
					}
				}
				open[i].End()
				delete(left, i)
			}
			if err := wait(t, &s); err != nil {
				t.Error(err)
			}
		})
	}
}

// wait waits for a second.
func wait(t *testing.T, s *inflight.Requests) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return s.Wait(ctx)
}

// TestWaitReturnsAtTheLastEnd checks that two waiters return when the last request ends.
func TestWaitReturnsAtTheLastEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s inflight.Requests
		for i := range 2 {
			q, _ := s.Begin(request("/"))
			time.AfterFunc(time.Duration(i+1)*time.Minute, q.End)
		}
		s.Close()
		began, ended := time.Now(), make(chan error)
		for range 2 {
			go func() { ended <- s.Wait(t.Context()) }()
		}
		if err := errors.Join(<-ended, <-ended); err != nil || time.Since(began) != 2*time.Minute {
			t.Errorf("Wait returned %v after %v, want no error after two minutes", err, time.Since(began))
		}
	})
}

// TestLongErrorIsCut checks that the error names the oldest requests and counts the others.
func TestLongErrorIsCut(t *testing.T) {
	t.Parallel()
	var s inflight.Requests
	for i := range 100 {
		s.Begin(request(fmt.Sprintf("/%d", i)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Wait(ctx)
	if err == nil || !strings.Contains(err.Error(), "POST /9 ") || strings.Contains(err.Error(), "POST /10 ") ||
		!strings.HasSuffix(err.Error(), ", and 90 more") {
		t.Errorf("got error %v, want one that names ten requests and counts the others", err)
	}
}
