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

// discardBody reads the body of a request that does not use it, over HTTP/1.1, where net/http would do so before it
// sends the answer. It returns an error if the body is too long or does not come within the time.
func (x *exchange) discardBody(within time.Duration) error {
	r, rc := x.r, http.NewResponseController(x.ResponseWriter)
	if r.ProtoMajor > 1 || r.ContentLength == 0 {
		return nil
	}
	if r.ContentLength > request.MaxBody {
		return status.TooBig(request.MaxBody)
	}
	if rc.SetReadDeadline(time.Now().Add(within)) != nil { // in process, where nothing waits for the body
		return nil
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r.Body, request.MaxBody+1))
	switch {
	case n > request.MaxBody:
		return status.TooBig(request.MaxBody)
	case err != nil:
		return apierrors.NewBadRequest("the body of the request did not come: " + err.Error())
	}
	x.body.CompareAndSwap(bodyUnread, bodyRead)
	rc.SetReadDeadline(time.Time{}) // net/http waits for the end of the connection
	return nil
}

// The states of a body. It is bodyRead also if there is none, and bodyEnded if it was not read before the request's
// deadline.
const (
	bodyUnread = iota
	bodyRead
	bodyEnded
)

// answerGrace is how long a client may take to read its answer after the request's deadline, and to send the rest of a
// body that the server did not read.
const answerGrace = 5 * time.Second

// endTransfer ends the reading of the body, and sets the deadline for writes, so that a client that does not send its
// request or does not read its answer does not hold its seats. It does not set a deadline for reads once the body was
// read, or if there is none: net/http then waits for the end of the connection, and would take the deadline for it.
func (x *exchange) endTransfer() {
	now, rc := time.Now(), http.NewResponseController(x.ResponseWriter)
	if x.body.CompareAndSwap(bodyUnread, bodyEnded) {
		rc.SetReadDeadline(now)
	}
	rc.SetWriteDeadline(now.Add(answerGrace))
	x.writesEnd.Store(true)
}

// completeAnswer sends the rest of the answer, if the connection may have a deadline or the body was not read, and
// removes the deadline for writes, because the connection may be reused. net/http reads the rest of the body before it
// sends a small answer; afterwards it sets the deadline for reads itself.
func (x *exchange) completeAnswer() {
	rest := x.body.Load() != bodyRead
	if x.r.ProtoMajor != 1 || !rest && !x.writesEnd.Load() {
		return
	}
	rc := http.NewResponseController(x.ResponseWriter)
	if now := time.Now(); rest {
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
