package https

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/internal/auth/pki"
)

// openHTTPS serves a handler on a socket until the test ends.
func openHTTPS(t *testing.T, handler http.Handler, change ...func(*tls.Config)) (h *Server, address string) {
	t.Helper()
	keys, err := pki.New(pki.Hosts("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := keys.ServerConfig()
	for _, c := range change {
		c(config)
	}
	h = New(listener, config, handler, slog.New(slog.DiscardHandler))
	served := make(chan error)
	go func() { served <- h.Serve() }()
	t.Cleanup(func() {
		h.cutOff(context.Background())
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return h, listener.Addr().String()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestPlainHTTPGetsTLSHint checks the response to a client that forgot https://.
func TestPlainHTTPGetsTLSHint(t *testing.T) {
	t.Parallel()
	_, address := openHTTPS(t, http.NotFoundHandler())
	conn := dial(t, address)
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+address+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "HTTPS") {
		t.Errorf("answered with %s: %s (%v)", response.Status, body, err)
	}
}

// TestShutdownDoesNotWaitForHandshake checks that a connection without a handshake does not delay shutdown.
func TestShutdownDoesNotWaitForHandshake(t *testing.T) {
	t.Parallel()
	h, address := openHTTPS(t, http.NotFoundHandler())
	silent, next := dial(t, address), dial(t, address)
	if _, err := next.Write([]byte("no TLS at all\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, next); err != nil { // accepted after the silent connection and answered
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), h.http1.ReadHeaderTimeout/2)
	defer cancel()
	if err := h.shutdown(ctx); err != nil {
		t.Error(err)
	}
	silent.SetReadDeadline(time.Now().Add(h.http1.ReadHeaderTimeout / 2))
	if _, err := silent.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the silent connection has %v, want its end", err)
	}
}

// TestHandshakePanicEndsOneConnection checks that a panic in a callback of Options.TLS ends only its
// connection.
func TestHandshakePanicEndsOneConnection(t *testing.T) {
	t.Parallel()
	_, address := openHTTPS(t, http.NotFoundHandler(), func(config *tls.Config) {
		config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if hello.ServerName == "odd" {
				panic("what no configuration should do")
			}
			return nil, nil
		}
	})
	odd := tls.Client(dial(t, address), &tls.Config{ServerName: "odd", InsecureSkipVerify: true})
	if err := odd.Handshake(); err == nil {
		t.Error("the handshake succeeded")
	}
	next := tls.Client(dial(t, address), &tls.Config{InsecureSkipVerify: true})
	if err := next.Handshake(); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// TestShutdownClosesIdleHTTP2 checks that shutdown closes idle HTTP/2 connections without waiting.
func TestShutdownClosesIdleHTTP2(t *testing.T) {
	t.Parallel()
	h, address := openHTTPS(t, http.NotFoundHandler())
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get("https://" + address)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.ProtoMajor != 2 {
		t.Fatalf("it speaks %s", response.Proto)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := h.shutdown(ctx); err != nil {
		t.Errorf("an idle connection is left: %v", err)
	}
}
