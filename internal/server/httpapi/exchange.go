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
	if err != nil {
		if x.bounded != nil && x.bounded.Err() != nil {
			return nil, x.bounded.Err()
		}
		return nil, apierrors.NewBadRequest("the body of the request broke off: " + err.Error())
	}
	if n > request.MaxBody {
		return nil, status.TooBig(request.MaxBody)
	}
	x.bodyRead = true
	return buf.Bytes(), nil
}

// answerGrace is how long a client may take to read its answer after the request's deadline, and to send the rest of a
// body that the server did not read.
const answerGrace = 5 * time.Second

// endTransfer ends the reading of the body, and sets the deadline for writes, so that a client that does not send its
// request or does not read its answer does not hold its seats.
func (x *exchange) endTransfer() {
	now, rc := time.Now(), http.NewResponseController(x.ResponseWriter)
	rc.SetReadDeadline(now)
	rc.SetWriteDeadline(now.Add(answerGrace))
}

// limitRest sets the deadline for the rest of the body. After the answer, net/http reads it, so that the connection can
// be reused, and sets the deadline of the next request.
func (x *exchange) limitRest() {
	http.NewResponseController(x.ResponseWriter).SetReadDeadline(time.Now().Add(answerGrace))
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
