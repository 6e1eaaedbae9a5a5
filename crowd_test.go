package bowline

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

// visitors is a listener that somebody always knocks at.
type visitors struct{ net.Listener }

func (visitors) Accept() (net.Conn, error) { conn, _ := net.Pipe(); return conn, nil }
func (visitors) Close() error              { return nil }
func (visitors) Addr() net.Addr            { return &net.TCPAddr{} }

// TestNoMoreConnectionsThanPlaces: the next one is taken when one is closed, however often it is, and the log says why others
// wait, once in a while.
func TestNoMoreConnectionsThanPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		c := newCrowd(visitors{}, 2, slog.New(slog.NewTextHandler(&told, nil)))
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
		if said := strings.Count(told.String(), "no more are taken"); said != 1 {
			t.Errorf("the log says it %d times: %s", said, told.String())
		}
		c.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("it ended with %v", err)
		}
	})
}

// out is a listener of a process that has no file left for a connection.
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

// TestNoFileForAConnectionIsLogged, and the socket goes on afterwards.
func TestNoFileForAConnectionIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		listener := &out{closed: make(chan struct{})}
		log := slog.New(slog.NewTextHandler(&told, nil))
		socket := newHTTPS(newCrowd(listener, 1, log), &tls.Config{}, http.NotFoundHandler(), log)
		ended := make(chan error, 1)
		go func() { ended <- socket.serve() }()
		time.Sleep(time.Minute) // after an error it pauses
		if err := errors.Join(socket.shutdown(t.Context()), socket.cutOff()); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("it ended with %v", err)
		}
		if listener.errors != 4 {
			t.Errorf("it tried %d times", listener.errors)
		}
		if said := strings.Count(told.String(), "too many open files"); said != 3 {
			t.Errorf("the log says it %d times: %s", said, told.String())
		}
	})
}
