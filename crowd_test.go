package bowline

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
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
