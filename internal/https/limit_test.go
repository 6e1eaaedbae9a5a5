package https

import (
	"bytes"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// visitors is a listener with a new connection for every Accept.
type visitors struct{ net.Listener }

func (visitors) Accept() (net.Conn, error) { conn, _ := net.Pipe(); return conn, nil }
func (visitors) Close() error              { return nil }
func (visitors) Addr() net.Addr            { return &net.TCPAddr{} }

// TestConnectionsAreLimited checks that closing a connection, even twice, admits exactly one more, and
// that the log reports the limit once a minute at most.
func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := Limit(visitors{}, 2, slog.New(slog.NewTextHandler(&log, nil)))
		var open []net.Conn
		ended := make(chan error)
		go func() {
			for {
				conn, err := c.Accept()
				if err != nil {
					ended <- err
					return
				}
				open = append(open, conn)
			}
		}()
		for want := 2; want <= 5; want++ {
			synctest.Wait()
			if len(open) != want {
				t.Fatalf("%d connections were taken, want %d", len(open), want)
			}
			last := open[want-1]
			last.Close()
			last.Close()
		}
		synctest.Wait()
		if count := strings.Count(log.String(), "no more are accepted"); count != 1 {
			t.Errorf("the log says it %d times: %s", count, log.String())
		}
		c.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("it ended with %v", err)
		}
	})
}

// out is a listener of a process that has run out of file descriptors.
type out struct {
	visitors
	closed chan struct{}
	errors int
}

func (o *out) Accept() (net.Conn, error) {
	if o.errors++; o.errors > 3 {
		<-o.closed
		return nil, net.ErrClosed
	}
	return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
}

func (o *out) Close() error { close(o.closed); return nil }

// TestAcceptErrorIsLogged also checks that the socket recovers.
func TestAcceptErrorIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var output bytes.Buffer
		listener := &out{closed: make(chan struct{})}
		log := slog.New(slog.NewTextHandler(&output, nil))
		socket := New(Limit(listener, 1, log), &tls.Config{}, http.NotFoundHandler(), log)
		ended := make(chan error, 1)
		go func() { ended <- socket.Serve() }()
		time.Sleep(time.Minute) // it backs off after an error
		if err := errors.Join(socket.shutdown(t.Context()), socket.cutOff(t.Context())); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("it ended with %v", err)
		}
		if listener.errors != 4 {
			t.Errorf("it tried %d times", listener.errors)
		}
		if count := strings.Count(output.String(), "too many open files"); count != 3 {
			t.Errorf("the log says it %d times: %s", count, output.String())
		}
	})
}
