package inprocess_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/internal/inprocess"
)

// serving makes an http client of a handler, and closes the transport with the test.
func serving(t *testing.T, h http.HandlerFunc) (*http.Client, *inprocess.Transport) {
	t.Helper()
	transport := inprocess.NewTransport(h)
	t.Cleanup(transport.Close)
	return &http.Client{Transport: transport}, transport
}

func get(t *testing.T, c *http.Client, ctx context.Context) (*http.Response, error) {
	t.Helper()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://test/path?q=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Do(q)
}

func TestRequestMatchesWireRequest(t *testing.T) {
	t.Parallel()
	c, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "hello" || r.ContentLength != 5 {
			t.Errorf("body %q of length %d: %v", body, r.ContentLength, err)
		}
		if r.Host != "test" || r.RequestURI != "/a%2Fb/c?q=1" || r.URL.Host != "" || r.RemoteAddr == "" {
			t.Errorf("host %q, URI %q, URL %v, from %q", r.Host, r.RequestURI, r.URL, r.RemoteAddr)
		}
		r.Header.Set("X-Own", "changed")
		w.Header().Set("X-Answer", "yes")
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("X-Answer", "too late")
		fmt.Fprint(w, "made")
	})
	q, _ := http.NewRequest(http.MethodPost, "http://test/a%2Fb/c?q=1", strings.NewReader("hello"))
	q.Header.Set("X-Own", "caller's")
	resp, err := c.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusCreated || resp.Header.Get("X-Answer") != "yes" || string(body) != "made" {
		t.Errorf("got %s, X-Answer %q, %q", resp.Status, resp.Header.Get("X-Answer"), body)
	}
	if q.Header.Get("X-Own") != "caller's" {
		t.Error("the handler changed the caller's header")
	}
}

func TestResponsesMatchNetworkServer(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"nothing written": func(http.ResponseWriter, *http.Request) {},
		"no content":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204); w.Write([]byte("x")) },
		"guessed type":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"two headers":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); w.WriteHeader(200) },
		"length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			fmt.Fprint(w, "ok")
		},
		"large": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "x/y")
			w.Write(bytes.Repeat([]byte("0123456789"), 100_000))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network := httptest.NewServer(handler)
			defer network.Close()
			want, err := network.Client().Get(network.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer want.Body.Close()
			wantBody, _ := io.ReadAll(want.Body)
			c, _ := serving(t, handler)
			got, err := get(t, c, t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			gotBody, err := io.ReadAll(got.Body)
			if err != nil || got.Status != want.Status || !bytes.Equal(gotBody, wantBody) ||
				got.Header.Get("Content-Type") != want.Header.Get("Content-Type") {
				t.Errorf("got %s %v %d bytes (%v), want %s %v %d bytes", got.Status, got.Header, len(gotBody), err,
					want.Status, want.Header, len(wantBody))
			}
		})
	}
}

func TestResponseStreamsUntilBodyIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := false
		transport := inprocess.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			stream := http.NewResponseController(w)
			for n := 0; ; n++ {
				fmt.Fprintf(w, "event %d\n", n)
				if err := stream.Flush(); err != nil {
					t.Errorf("flush: %v", err)
				}
				select {
				case <-time.After(time.Hour):
				case <-r.Context().Done():
					ended = true
					return
				}
			}
		}))
		resp, err := get(t, &http.Client{Transport: transport}, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		start, line := time.Now(), make([]byte, len("event 0\n"))
		for n := range 3 {
			if _, err := io.ReadFull(resp.Body, line); err != nil || string(line) != fmt.Sprintf("event %d\n", n) {
				t.Errorf("got %q, %v", line, err)
			}
		}
		if took := time.Since(start); took != 2*time.Hour {
			t.Errorf("three events took %v", took)
		}
		resp.Body.Close()
		synctest.Wait()
		if !ended {
			t.Error("closing the body did not end the handler")
		}
		transport.Close()
	})
}

func TestCanceledContextEndsBothSides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, transport := serving(t, func(w http.ResponseWriter, r *http.Request) {
			if _, deadline := r.Context().Deadline(); deadline {
				t.Error("the caller's deadline reached the handler, as it would not on the wire")
			}
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		resp, err := get(t, c, ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("reading gave %v", err)
		}
		resp.Body.Close()
		transport.Close()
		if _, err := get(t, c, ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request that comes late gave %v", err)
		}
	})
}

func TestCloseEndsRequestsAndRejectsNewOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int32
		c, transport := serving(t, func(w http.ResponseWriter, r *http.Request) {
			running.Add(1)
			defer running.Add(-1)
			if r.URL.Query().Get("q") == "1" {
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
			time.Sleep(time.Second) // a handler that takes its time to clean up
		})
		resp, err := get(t, c, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		unanswered := make(chan error, 1)
		go func() {
			_, err := c.Get("http://test/unanswered")
			unanswered <- err
		}()
		synctest.Wait()
		transport.Close()
		if n := running.Load(); n != 0 {
			t.Errorf("%d handlers run after Close", n)
		}
		for _, err := range []error{<-unanswered, second(io.ReadAll(resp.Body)), second(get(t, c, t.Context()))} {
			if !errors.Is(err, inprocess.ErrClosed) {
				t.Errorf("got %v, want %v", err, inprocess.ErrClosed)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestPanicFailsOneRequest(t *testing.T) {
	t.Parallel()
	c, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			fmt.Fprint(w, "begun")
			panic(http.ErrAbortHandler)
		}
		panic("boom")
	})
	if _, err := c.Get("http://test/"); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("got %v, want the panic", err)
	}
	resp, err := c.Get("http://test/late")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); string(body) != "begun" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q and %v", body, err)
	}
}

func TestWriteDeadlineEndsBlockedWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration
		var failed error
		c, transport := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			start := time.Now()
			stream := http.NewResponseController(w)
			for failed == nil && took < time.Hour {
				if err := stream.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
					t.Errorf("SetWriteDeadline: %v", err)
				}
				_, failed = w.Write(make([]byte, 10_000))
				took = time.Since(start)
			}
		})
		resp, err := get(t, c, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		resp.Body.Close()
		transport.Close()
		if !errors.Is(failed, os.ErrDeadlineExceeded) || took != time.Minute {
			t.Errorf("the writer got %v after %v", failed, took)
		}
	})
}

func TestAsSetsTheCaller(t *testing.T) {
	t.Parallel()
	type caller struct{}
	transport := inprocess.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Context().Value(caller{}))
	}))
	defer transport.Close()
	for _, name := range []string{"alice", "bob"} {
		as := transport.As(func(ctx context.Context) context.Context { return context.WithValue(ctx, caller{}, name) })
		mallory := context.WithValue(t.Context(), caller{}, "mallory")
		resp, err := get(t, &http.Client{Transport: as}, mallory)
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(resp.Body); string(body) != name {
			t.Errorf("the handler saw %q, want %q", body, name)
		}
		resp.Body.Close()
	}
}

func TestShutdownWaitsForHandlers(t *testing.T) {
	t.Parallel()
	for patience, want := range map[time.Duration]string{time.Hour: "whole", time.Second: "cut off"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				transport := inprocess.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					http.NewResponseController(w).Flush()
					select {
					case <-time.After(time.Minute):
						fmt.Fprint(w, "whole")
					case <-r.Context().Done():
					}
				}))
				c := &http.Client{Transport: transport}
				resp, err := get(t, c, t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				defer context.AfterFunc(ctx, transport.Cancel)()
				began := time.Now()
				if err := transport.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != min(patience, time.Minute) {
					t.Errorf("it took %s", took)
				}
				body, err := io.ReadAll(resp.Body)
				if whole := err == nil && string(body) == "whole"; whole != (want == "whole") || !whole &&
					!errors.Is(err, inprocess.ErrClosed) {
					t.Errorf("the answer is %q, %v", body, err)
				}
				if _, err := get(t, c, t.Context()); !errors.Is(err, inprocess.ErrClosed) {
					t.Errorf("a request after Shutdown: %v", err)
				}
				transport.Close()
			})
		})
	}
}

// prompt is a handler that is prompt about all requests.
type prompt struct{ http.HandlerFunc }

func (prompt) Prompt(*http.Request) bool { return true }

func TestHandlerHasReturnedBeforeResponse(t *testing.T) {
	t.Parallel()
	returned := 0 // which a goroutine beside the caller's would race for
	body := bytes.Repeat([]byte("0123456789"), 100_000)
	transport := inprocess.NewTransport(prompt{func(w http.ResponseWriter, r *http.Request) {
		defer func() { returned++ }()
		switch r.URL.Path {
		case "/large":
			http.NewResponseController(w).Flush()
			w.Write(body)
		case "/panic":
			panic("on the caller's goroutine")
		case "/wait":
			<-r.Context().Done()
		}
	}})
	t.Cleanup(transport.Close)
	ctx, cancel := context.WithCancelCause(t.Context())
	ask := func(path string) (*http.Response, error) {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://test"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return transport.As(func(ctx context.Context) context.Context { return ctx }).RoundTrip(q)
	}
	resp, err := ask("/large")
	if err != nil || returned != 1 {
		t.Fatalf("%v, and %d handlers have returned", err, returned)
	}
	if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%d of %d bytes, %v", len(got), len(body), err)
	}
	resp.Body.Close()
	if _, err := ask("/panic"); err == nil || !strings.Contains(err.Error(), "panicked: on the caller's goroutine") {
		t.Errorf("a panic is %v", err)
	}
	errGone := errors.New("the caller has gone")
	time.AfterFunc(time.Millisecond, func() { cancel(errGone) })
	if _, err := ask("/wait"); !errors.Is(err, errGone) || returned != 3 {
		t.Errorf("%v, and %d handlers have returned", err, returned)
	}
}
