package https

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/auth/pki"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

const (
	mapsPath  = "/api/v1/namespaces/default/configmaps"
	watchPath = mapsPath + "?watch=true&resourceVersion=0"
	// impatience is how long the sockets of these tests wait for a client. It is long enough for a reading
	// client on a busy machine.
	impatience = 2 * time.Second
)

// socket is a server behind a TLS socket with a short write timeout.
type socket struct {
	*Server
	url    string
	client *http.Client
	// ended receives a value when the watch of a request with an X-Client header has been cut off.
	ended chan struct{}
}

func openSocket(t *testing.T) *socket {
	t.Helper()
	state, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(t.Context(), server.Options{
		Store: state, Kinds: kind.NewRegistry(builtin.Kinds(object.NewCache(64 << 20))...),
		Authenticator: auth.InProcess(), Authorizer: auth.Admins(), Patience: impatience,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &socket{ended: make(chan struct{}, 10)}
	handler := srv.Handler()
	noting := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		named := r.Header.Get("X-Client") != ""
		if named && r.ProtoMajor == 1 {
			w = cutting{w, s.ended}
		}
		handler.ServeHTTP(w, r.WithContext(auth.WithUser(r.Context(), auth.NewUser(pki.AdminName, auth.AdminGroup))))
		if named && r.ProtoMajor == 2 {
			s.ended <- struct{}{}
		}
	})
	keys, err := pki.New(pki.Hosts("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Server = New(thin{listener}, keys.ServerConfig(), noting, slog.New(slog.DiscardHandler))
	s.url = "https://" + listener.Addr().String()
	if s.http1.HTTP2.WriteByteTimeout == 0 {
		t.Error("a client that stops reading its HTTP/2 connection would never be cut off")
	}
	s.http1.HTTP2.WriteByteTimeout = impatience
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	s.client = &http.Client{Transport: transport}
	served := make(chan error)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		srv.Close()
		s.cutOff(context.Background())
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		transport.CloseIdleConnections()
		state.Close()
	})
	return s
}

// cutting reports when a write is cut off, because an HTTP/1.1 handler continues for the 5 seconds in which
// TLS tries to send close_notify.
type cutting struct {
	http.ResponseWriter
	ended chan struct{}
}

func (c cutting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c cutting) SetWriteDeadline(at time.Time) error {
	err := http.NewResponseController(c.ResponseWriter).SetWriteDeadline(at)
	c.ended <- struct{}{}
	return err
}

// buffers is the approximate buffer size of sockets and streams in these tests: small buffers make clients
// stall sooner.
const buffers = 64 << 10

// thin gives connections small buffers.
type thin struct{ net.Listener }

func (l thin) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(buffers)
	}
	return conn, err
}

// dial opens a connection that can be stalled.
func (s *socket) dial(t *testing.T, protocol string) (*tls.Conn, *stallable) {
	t.Helper()
	plain, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	plain.(*net.TCPConn).SetReadBuffer(buffers)
	raw := &stallable{Conn: plain}
	raw.moved.L = &raw.mu
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}})
	t.Cleanup(func() { raw.stall(false); plain.Close() })
	return conn, raw
}

// stallable is a connection whose reader can be stopped.
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

// watch begins a watch over its own connection.
func (s *socket) watch(t *testing.T, name, protocol string) (io.ReadCloser, *stallable) {
	t.Helper()
	conn, raw := s.dial(t, protocol)
	transport := &http.Transport{
		ForceAttemptHTTP2: protocol == "h2",
		HTTP2:             &http.HTTP2Config{MaxReceiveBufferPerStream: buffers},
		DialTLSContext:    func(context.Context, string, string) (net.Conn, error) { return conn, conn.Handshake() },
	}
	request, err := http.NewRequest(http.MethodGet, s.url+watchPath, nil)
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

// TestStalledWatchIsCutOff stalls a client over each protocol, its stream alone or the
// whole connection. A concurrent watch is not delayed. The client resumes after the last complete event
// without a gap.
func TestStalledWatchIsCutOff(t *testing.T) {
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
			const size, written = 256 << 10, 12 // more than all buffers on the path hold
			lines := bufio.NewScanner(healthy)
			lines.Buffer(nil, 2*size)
			for i := range written {
				s.write(t, i, size)
				wantEvent(t, lines, i)
			}
			<-s.ended
			raw.stall(false)
			seen, revision := s.whole(t, slow, size)
			if seen >= written {
				t.Errorf("the stalled watch was not cut off: it has all %d objects", seen)
			}
			s.write(t, written, size)
			wantEvent(t, lines, written)
			s.resume(t, seen, revision, written, size)
		})
	}
}

// watchEvent has the fields of an event that the tests use.
type watchEvent struct {
	Object struct {
		Metadata struct{ Name, ResourceVersion string }
	}
}

// whole reads a watch until it is cut off. It returns the number of complete events, which must be
// consecutive from the first, and the revision of the last.
func (s *socket) whole(t *testing.T, watch io.Reader, size int) (seen int, revision string) {
	t.Helper()
	revision = "0" // for a watch without events
	lines := bufio.NewReaderSize(watch, 2*size)
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			t.Error("the stalled watch ended as if it had come to its end")
		}
		if err != nil {
			return seen, revision
		}
		var event watchEvent
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("m-%03d", seen); event.Object.Metadata.Name != want {
			t.Fatalf("event %d of the stalled watch is about %s", seen, event.Object.Metadata.Name)
		}
		seen, revision = seen+1, event.Object.Metadata.ResourceVersion
	}
}

// resume watches from the last observed revision up to the last object, and checks that no event is missing.
func (s *socket) resume(t *testing.T, seen int, revision string, last, size int) {
	t.Helper()
	response, err := s.client.Get(s.url + mapsPath + "?watch=true&resourceVersion=" + revision)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 2*size)
	for ; seen <= last; seen++ {
		wantEvent(t, lines, seen)
	}
}

// write creates a ConfigMap of a size.
func (s *socket) write(t *testing.T, i, size int) {
	t.Helper()
	body := fmt.Sprintf(`{"metadata":{"name":"m-%03d"},"data":{"k":%q}}`, i, strings.Repeat("x", size-200))
	response, err := s.client.Post(s.url+mapsPath, "application/json", strings.NewReader(body))
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
	var event watchEvent
	if !lines.Scan() {
		t.Fatalf("the watch ended before event %d: %v", i, lines.Err())
	}
	if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("m-%03d", i); event.Object.Metadata.Name != want {
		t.Fatalf("the watch has %s, want %s", event.Object.Metadata.Name, want)
	}
}
