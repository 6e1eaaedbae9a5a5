package server_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/admission"
)

// http1Conn is a connection over HTTP/1.1, to which a test writes the bytes of its requests.
type http1Conn struct {
	net    *tls.Conn
	reader *bufio.Reader
}

// dialHTTP1 opens a connection with a deadline of a minute, and closes it when the test ends.
func dialHTTP1(t *testing.T, w *testPlane) *http1Conn {
	t.Helper()
	config := must(rest.TLSConfigFor(w.config))(t)
	config.NextProtos = []string{"http/1.1"}
	conn := must(tls.Dial("tcp", w.Addr(), config))(t)
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	return &http1Conn{conn, bufio.NewReader(conn)}
}

// request sends the header of a request with a body of length bytes, and only the start of the body.
func (c *http1Conn) request(t *testing.T, method, path string, length int, start string) {
	t.Helper()
	must(fmt.Fprintf(c.net, "%s %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method,
		path, length, start))(t)
}

// wantCode reads a response, and ends the test unless its status is code.
func (c *http1Conn) wantCode(t *testing.T, code int) {
	t.Helper()
	resp, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text := must(io.ReadAll(resp.Body))(t); resp.StatusCode != code {
		t.Fatalf("got %d %s, want %d", resp.StatusCode, text, code)
	}
}

// A client that sends its body a byte at a time gets a response, whether the handler reads the body or not.
func TestSlowBodyIsAnswered(t *testing.T) {
	t.Parallel()
	w := startTLS(t)
	for path, code := range map[string]int{
		configMaps + "?timeout=1s": http.StatusGatewayTimeout, "/bowline/why?timeout=1s": http.StatusGatewayTimeout,
		"/version?timeout=1s": http.StatusOK, "/nowhere": http.StatusNotFound,
		configMaps + "?timeout=" + strings.Repeat("x", 5_000): http.StatusBadRequest, // a long response
	} {
		t.Run(path[:min(len(path), 60)], func(t *testing.T) {
			t.Parallel()
			conn := dialHTTP1(t, w)
			conn.request(t, http.MethodPost, path, 1_000, "")
			go func() {
				for range time.Tick(200 * time.Millisecond) {
					if _, err := conn.net.Write([]byte("x")); err != nil {
						return
					}
				}
			}()
			conn.wantCode(t, code)
		})
	}
}

// Watches and backups have no deadline, but the server waits for their body for 5 seconds only.
func TestWatchAndBackupRejectMissingBody(t *testing.T) {
	t.Parallel()
	w := startTLS(t)
	for _, path := range []string{configMaps + "?watch=true", "/bowline/backup"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			conn := dialHTTP1(t, w)
			conn.request(t, http.MethodGet, path, 1_000, "{")
			conn.wantCode(t, http.StatusBadRequest)
		})
	}
}

// A connection serves further requests after one that ended at its deadline.
func TestConnectionServesAfterDeadline(t *testing.T) {
	t.Parallel()
	w := startTLS(t, func(o *bowline.Options) { o.Plugins = []admission.Plugin{&blocking{}} })
	conn := dialHTTP1(t, w)
	const body = `{"metadata":{"name":"a"}}`
	conn.request(t, http.MethodPost, configMaps+"?timeout=2s", len(body), body)
	conn.wantCode(t, http.StatusGatewayTimeout)
	for range 8 { // longer than the 5 seconds in which a client may read the late response
		time.Sleep(time.Second)
		conn.request(t, http.MethodGet, configMaps, 0, "")
		conn.wantCode(t, http.StatusOK)
	}
	// Nor is the next request affected by a watch with a body.
	conn.request(t, http.MethodGet, configMaps+"?watch=true&timeoutSeconds=1", len(body), body)
	conn.wantCode(t, http.StatusOK)
	// Nor by a handler that ignores a slow body.
	conn.request(t, http.MethodPost, "/version", len(body), "")
	time.Sleep(100 * time.Millisecond)
	must(io.WriteString(conn.net, body))(t)
	conn.wantCode(t, http.StatusOK)
	conn.request(t, http.MethodGet, configMaps, 0, "")
	conn.wantCode(t, http.StatusOK)
}

// A connection on which a body did not arrive in time is closed, because its context is canceled.
func TestMissingBodyClosesConnection(t *testing.T) {
	t.Parallel()
	w := startTLS(t)
	for path, code := range map[string]int{configMaps + "?watch=true": http.StatusBadRequest, "/version": http.StatusOK} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			conn := dialHTTP1(t, w)
			conn.request(t, http.MethodGet, path, 10, "")
			conn.wantCode(t, code)
			must(io.WriteString(conn.net, strings.Repeat("x", 10)))(t)
			if _, err := conn.reader.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got error %v, want the end of the connection", err)
			}
		})
	}
}
