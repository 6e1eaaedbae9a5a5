package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/internal/server/request"
	"github.com/bowline-dev/bowline/internal/server/status"
)

// WriteHeader implements http.ResponseWriter.
func (x *exchange) WriteHeader(code int) {
	if x.code == 0 {
		x.code = code
	}
	x.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (x *exchange) Write(data []byte) (int, error) {
	if x.code == 0 {
		x.code = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(data)
	x.written += int64(n)
	return n, err
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
		if r.ProtoMajor == 1 { // the deadline for reads may have canceled the connection's context
			x.Header().Set("Connection", "close")
		}
		return nil, x.bounded.Err()
	}
	return nil, apierrors.NewBadRequest("the body of the request broke off: " + err.Error())
}

// discardBody reads and discards the body of an HTTP/1.1 request whose handler does not need it. Otherwise net/http
// would do so before it sends the response, without a time limit. It returns an error if the body exceeds
// request.MaxBody or does not arrive within the given time. For other protocols it does nothing.
func (x *exchange) discardBody(within time.Duration) error {
	r, rc := x.r, http.NewResponseController(x.ResponseWriter)
	if r.ProtoMajor > 1 || r.ContentLength == 0 {
		return nil
	}
	if r.ContentLength > request.MaxBody {
		return status.TooBig(request.MaxBody)
	}
	if rc.SetReadDeadline(time.Now().Add(within)) != nil { // an in-process request has no connection
		return nil
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r.Body, request.MaxBody+1))
	switch {
	case n > request.MaxBody:
		return status.TooBig(request.MaxBody)
	case err != nil:
		return apierrors.NewBadRequest("the request body was not received in full: " + err.Error())
	}
	x.body.CompareAndSwap(bodyUnread, bodyRead)
	rc.SetReadDeadline(time.Time{}) // net/http reads in the background, and would take the deadline for a disconnect
	return nil
}

// The states of a body.
const (
	bodyUnread = iota // not yet read in full
	bodyRead          // read in full, or the request has none
	bodyEnded         // the request's deadline passed first
)

// answerGrace is how long a client may take to read its answer after the request's deadline, and to send the rest of a
// body that the server did not read.
const answerGrace = 5 * time.Second

// endTransfer ends the reading of the body, and sets the deadline for writes, so that a client that does not send its
// request or does not read its answer does not hold its seats. It leaves the deadline for reads alone once the body
// has been read, or if there is none: net/http then reads in the background to detect a disconnect, and would take an
// expired deadline for one.
func (x *exchange) endTransfer() {
	now, rc := time.Now(), http.NewResponseController(x.ResponseWriter)
	if x.body.CompareAndSwap(bodyUnread, bodyEnded) {
		rc.SetReadDeadline(now)
	}
	rc.SetWriteDeadline(now.Add(answerGrace))
	x.hasWriteDeadline.Store(true)
}

// completeAnswer flushes an HTTP/1.1 response and removes the deadline for writes, so that the connection can be
// reused. If the body is unread, net/http reads the rest of it before it sends a small response: completeAnswer gives
// the client answerGrace to send the body, and twice that in all. net/http sets the deadline for reads anew for the
// next request.
func (x *exchange) completeAnswer() {
	unread := x.body.Load() != bodyRead
	if x.r.ProtoMajor != 1 || !unread && !x.hasWriteDeadline.Load() {
		return
	}
	rc := http.NewResponseController(x.ResponseWriter)
	if now := time.Now(); unread {
		rc.SetReadDeadline(now.Add(answerGrace))
		rc.SetWriteDeadline(now.Add(2 * answerGrace))
	}
	rc.Flush() // fails only if the client disconnected, or the deadline has passed
	rc.SetWriteDeadline(time.Time{})
}

// onDone calls f if ctx ends before stop is called. stop waits for a running f, so f may use what is released when the
// handler returns.
func onDone(ctx context.Context, f func()) (stop func()) {
	ran := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() { defer close(ran); f() })
	return func() {
		if !cancel() {
			<-ran
		}
	}
}
