package bowline

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/auth"
	"github.com/bowline-dev/bowline/kind"
	"github.com/bowline-dev/bowline/kind/builtin"
	"github.com/bowline-dev/bowline/object"
	"github.com/bowline-dev/bowline/server"
	"github.com/bowline-dev/bowline/store"
	"github.com/bowline-dev/bowline/store/log/memory"
)

const (
	mapsPath  = "/api/v1/namespaces/default/configmaps"
	watchPath = mapsPath + "?watch=true&resourceVersion=0"
	// impatience is how long the sockets of these tests wait for a client.
	impatience = 200 * time.Millisecond
)

// socket is a plane's server behind a plane's socket, that loses its patience soon.
type socket struct {
	*httptest.Server
	// ended are the X-Client headers of watches that have returned.
	ended chan string
}

func openSocket(t *testing.T) *socket {
	t.Helper()
	state, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(t.Context(), server.Options{
		Store: state, Kinds: kind.NewRegistry(builtin.Kinds(object.NewCache(encodingBudget))...),
		Authenticator: auth.InProcess(), Authorizer: auth.Admins(), Patience: impatience,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &socket{ended: make(chan string, 10)}
	handler := srv.Handler()
	noting := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(auth.WithUser(r.Context(), admin)))
		if name := r.Header.Get("X-Client"); name != "" {
			s.ended <- name
		}
	})
	s.Server = httptest.NewUnstartedServer(noting)
	s.Config = newHTTPServer(noting, slog.New(slog.DiscardHandler))
	if s.Config.HTTP2.WriteByteTimeout == 0 {
		t.Error("a client that stops reading its HTTP/2 connection would never be cut off")
	}
	s.Config.HTTP2.WriteByteTimeout = impatience
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() {
		srv.Close()
		s.CloseClientConnections()
		s.Close()
		state.Close()
	})
	return s
}

// dial opens a connection that may be stalled.
func (s *socket) dial(t *testing.T, protocol string) (*tls.Conn, *stallable) {
	t.Helper()
	plain, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	raw := &stallable{Conn: plain}
	raw.moved.L = &raw.mu
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}})
	t.Cleanup(func() { raw.stall(false); plain.Close() })
	return conn, raw
}

// stallable is a connection whose reader may stop reading it.
type stallable struct {
	net.Conn
	mu      sync.Mutex
	moved   sync.Cond
	stalled bool
}

func (c *stallable) Read(p []byte) (int, error) {
	c.mu.Lock()
	for c.stalled {
		c.moved.Wait()
	}
	c.mu.Unlock()
	return c.Conn.Read(p)
}

func (c *stallable) stall(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stalled = on
	c.moved.Broadcast()
}

// watch begins a watch over a connection of its own.
func (s *socket) watch(t *testing.T, name, protocol string) (io.ReadCloser, *stallable) {
	t.Helper()
	conn, raw := s.dial(t, protocol)
	transport := &http.Transport{
		ForceAttemptHTTP2: protocol == "h2",
		DialTLSContext:    func(context.Context, string, string) (net.Conn, error) { return conn, conn.Handshake() },
	}
	request, err := http.NewRequest(http.MethodGet, s.URL+watchPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Client", name)
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"h2": "HTTP/2.0", "http/1.1": "HTTP/1.1"}[protocol]; response.Proto != want {
		t.Fatalf("%s speaks %s, want %s", name, response.Proto, want)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response.Body, raw
}

// TestClientThatStopsReadingItsWatchIsCutOff over each protocol, whether it stops reading the answer alone or the whole
// connection. A watch beside it loses nothing, and does not wait.
func TestClientThatStopsReadingItsWatchIsCutOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, protocol string
		connection     bool
	}{{"HTTP1", "http/1.1", true}, {"HTTP2Stream", "h2", false}, {"HTTP2Connection", "h2", true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := openSocket(t)
			healthy, _ := s.watch(t, "", "h2")
			slow, raw := s.watch(t, "slow", c.protocol)
			raw.stall(c.connection)
			const size, limit = 1 << 20, 64
			lines := bufio.NewScanner(healthy)
			lines.Buffer(nil, 2*size)
			written := 0
			for ended := false; !ended; written++ {
				if written == limit {
					t.Fatalf("%d MiB fit into a watch that nobody reads", limit)
				}
				s.write(t, written, size)
				wantEvent(t, lines, written)
				if written > 8 { // enough for every buffer of the way: now its patience is tried
					select {
					case <-s.ended:
						ended = true
					case <-time.After(2 * impatience):
					}
				}
			}
			raw.stall(false)
			if n, err := io.Copy(io.Discard, slow); err == nil || n >= int64(written*size) {
				t.Errorf("the stalled watch ended with %v after %d of %d MiB", err, n>>20, written)
			}
			s.write(t, written, size)
			wantEvent(t, lines, written)
		})
	}
}

// write creates a config map of a size.
func (s *socket) write(t *testing.T, i, size int) {
	t.Helper()
	body := fmt.Sprintf(`{"metadata":{"name":"m-%03d"},"data":{"k":%q}}`, i, strings.Repeat("x", size-200))
	response, err := s.Client().Post(s.URL+mapsPath, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		t.Fatalf("write %d: %s", i, response.Status)
	}
}

func wantEvent(t *testing.T, lines *bufio.Scanner, i int) {
	t.Helper()
	var event struct {
		Object struct {
			Metadata struct{ Name string }
		}
	}
	if !lines.Scan() {
		t.Fatalf("the healthy watch ended before event %d: %v", i, lines.Err())
	}
	if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("m-%03d", i); event.Object.Metadata.Name != want {
		t.Fatalf("the healthy watch has %s, want %s", event.Object.Metadata.Name, want)
	}
}
