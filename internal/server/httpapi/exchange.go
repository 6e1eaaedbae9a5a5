package httpapi

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/internal/server/operations"
	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/status"
)

// WriteHeader implements http.ResponseWriter.
func (x *exchange) WriteHeader(code int) {
	isInformation := code < http.StatusOK && code != http.StatusSwitchingProtocols // the response follows
	if !isInformation {
		x.begin(code)
	}
	x.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (x *exchange) Write(data []byte) (int, error) {
	x.begin(http.StatusOK)
	n, err := x.ResponseWriter.Write(data)
	x.written += int64(n)
	return n, err
}

// begin records the status of the response. Before a response over HTTP/1.1, it discards the rest of the body, because
// net/http would do so without a time limit, and otherwise has net/http close the connection.
func (x *exchange) begin(code int) {
	if x.code != 0 {
		return
	}
	x.code = code
	if x.body.Load() == bodyRead || !x.overHTTP1() {
		return
	}
	x.seats.Leave()
	if x.discardBody(maxDiscard, answerGrace) != nil {
		x.Header().Set("Connection", "close")
	}
}

// overHTTP1 reports whether the request came over a connection that serves one request at a time.
func (x *exchange) overHTTP1() bool { return x.r.ProtoMajor == 1 && x.r.TLS != nil }

// Hijack implements http.Hijacker, for streams to other machines. The caller has read or discards the body.
func (x *exchange) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(x.ResponseWriter).Hijack()
	if err == nil {
		x.code = http.StatusSwitchingProtocols
		x.body.Store(bodyRead)
	}
	return conn, buffered, err
}

// Unwrap lets http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// Leave implements request.Seats.
func (x *exchange) Leave() { x.seats.Leave() }

// ReadBody implements request.Body.
func (x *exchange) ReadBody() ([]byte, error) {
	r := x.r
	if r.ContentLength > request.MaxBody {
		return nil, status.TooBig(request.MaxBody)
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(r.Body, request.MaxBody+1))
	if err == nil && n > request.MaxBody {
		return nil, status.TooBig(request.MaxBody)
	}
	if err == nil && (x.body.CompareAndSwap(bodyUnread, bodyRead) || x.body.Load() == bodyRead) {
		return buf.Bytes(), nil
	}
	if x.bounded != nil && x.bounded.Err() != nil {
		return nil, x.bounded.Err()
	}
	return nil, apierrors.NewBadRequest("the body of the request broke off: " + err.Error())
}

// maxDiscard is how much of an unread body is discarded to keep a connection open, in bytes. It is net/http's limit,
// too.
const maxDiscard = 256 << 10

// discardBody reads and discards the body of an HTTP/1.1 request. It returns an error if the body exceeds limit, if it
// does not arrive within the given time, or if the client waits for permission to send it. The connection must be
// closed then: net/http cancels the context of a connection on which a read fails. For other protocols it does
// nothing.
func (x *exchange) discardBody(limit int64, within time.Duration) error {
	switch {
	case x.body.Load() == bodyRead || !x.overHTTP1():
		return nil
	case x.body.Load() == bodyEnded:
		return errUnread
	}
	rc := http.NewResponseController(x.ResponseWriter)
	var err error
	if x.r.ContentLength <= limit && x.r.Header.Get("Expect") == "" {
		if err = rc.SetReadDeadline(time.Now().Add(within)); err != nil || x.body.Load() == bodyEnded {
			return errors.Join(errUnread, err) // endTransfer has set an earlier deadline
		}
		var n int64
		n, err = io.Copy(io.Discard, io.LimitReader(x.r.Body, limit+1))
		if err == nil && n <= limit && x.body.CompareAndSwap(bodyUnread, bodyRead) {
			rc.SetReadDeadline(time.Time{}) // net/http reads in the background, and takes a deadline for a disconnect
			return nil
		}
	}
	x.body.CompareAndSwap(bodyUnread, bodyEnded)
	return errors.Join(errUnread, err)
}

// errUnread means that a request's body was not discarded.
var errUnread = errors.New("the request body is too long, or was not received in time")

// The states of a body.
const (
	bodyUnread = iota // not yet read in full
	bodyRead          // read in full, or the request has none
	bodyEnded         // no longer read: it is too long, or did not arrive in time
)

// answerGrace is how long a client may take to read its answer after the request's deadline, and to send the rest of a
// body that the server did not read.
const answerGrace = 5 * time.Second

// endTransfer ends the reading of the body, and sets the deadline for writes, so that a client that does not send its
// request or does not read its answer does not hold its seats. It leaves the deadline for reads alone once the body has
// been read, or if there is none: net/http then reads in the background to detect a disconnect, and would take an
// expired deadline for one.
func (x *exchange) endTransfer() {
	now, rc := time.Now(), http.NewResponseController(x.ResponseWriter)
	if x.body.CompareAndSwap(bodyUnread, bodyEnded) {
		rc.SetReadDeadline(now)
	}
	rc.SetWriteDeadline(now.Add(answerGrace))
}

// restTimeout is how long a client may take to read the last kilobytes of its answer.
const restTimeout = time.Minute

// limitRest sets the deadlines for what net/http does after the handler: it sends the rest of the response, reads the
// rest of the body, and then resets the deadlines if the connection is reused. A backup has its own deadline.
func (x *exchange) limitRest() {
	if !x.overHTTP1() {
		return
	}
	now, rc := time.Now(), http.NewResponseController(x.ResponseWriter)
	if x.route.Path != operations.BackupPath {
		rc.SetWriteDeadline(now.Add(restTimeout))
	}
	if x.body.Load() != bodyRead {
		rc.SetReadDeadline(now.Add(answerGrace))
	}
}
