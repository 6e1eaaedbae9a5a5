package inprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// answer is the http.ResponseWriter of one in-process request; RoundTrip waits on it. Only the handler's
// goroutine may write; fail may be called from any goroutine.
type answer struct {
	method string
	body   io.Closer   // the caller's request body
	header http.Header // owned by the handler until the header is sent
	pipe   *pipe
	wrote  int64 // body bytes written by the handler

	mu      sync.Mutex
	started bool
	ready   chan struct{} // closed when status and sent, or err, are set
	status  int
	sent    http.Header // owned by the caller once the response is returned
	length  int64       // Content-Length, or -1 if unknown
	err     error
}

func newAnswer(method string, body io.Closer) *answer {
	return &answer{method: method, body: body, header: http.Header{}, pipe: newPipe(), ready: make(chan struct{})}
}

func (a *answer) Header() http.Header { return a.header }

// WriteHeader sends a snapshot of the header. Only the first call counts; informational (1xx) responses are
// dropped.
func (a *answer) WriteHeader(status int) {
	if status >= 100 && status < 200 {
		return
	}
	a.begin(status, nil)
}

// begin records the status or error of the response, once, and wakes response.
func (a *answer) begin(status int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.started {
		return
	}
	a.started = true
	a.status, a.err = status, err
	if err == nil {
		a.sent, a.length = a.header.Clone(), contentLength(a.header)
	}
	close(a.ready)
}

// Write sends the header if it was not sent yet, and appends b to the body.
func (a *answer) Write(b []byte) (int, error) {
	if !a.hasBegun() {
		if a.header.Get("Content-Type") == "" && a.header.Get("Content-Encoding") == "" && len(b) > 0 {
			a.header.Set("Content-Type", http.DetectContentType(b))
		}
		a.WriteHeader(http.StatusOK)
	}
	switch {
	case a.status == http.StatusNoContent || a.status == http.StatusNotModified:
		return 0, http.ErrBodyNotAllowed
	case a.method == http.MethodHead:
		return len(b), nil
	}
	n, err := a.pipe.Write(b)
	a.wrote += int64(n)
	return n, err
}

func (a *answer) hasBegun() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.started
}

// Flush sends the header. Body bytes need no flush: the reader sees them at once.
func (a *answer) Flush() { a.WriteHeader(http.StatusOK) }

// SetWriteDeadline bounds how long a write waits for a slow reader. http.ResponseController calls it, and the
// two methods below.
func (a *answer) SetWriteDeadline(at time.Time) error {
	a.pipe.setDeadline(at)
	return nil
}

// SetReadDeadline closes the request body if at has passed. A deadline in the future is ignored: the
// request's context bounds it.
func (a *answer) SetReadDeadline(at time.Time) error {
	if at.IsZero() || at.After(time.Now()) {
		return nil
	}
	return a.body.Close()
}

// EnableFullDuplex does nothing: an in-process handler can always read the request body while it writes the
// response.
func (a *answer) EnableFullDuplex() error { return nil }

// finish ends the response of a handler that returned. As on a socket, a body shorter than its Content-Length
// is an error.
func (a *answer) finish() {
	a.begin(http.StatusOK, nil)
	if a.method != http.MethodHead && a.length > a.wrote {
		a.pipe.end(io.ErrUnexpectedEOF)
		return
	}
	a.pipe.end(io.EOF)
}

// breakOff ends the response of a handler that panicked: the reader gets what was written, then err.
func (a *answer) breakOff(err error) {
	a.begin(0, err)
	a.pipe.end(err)
}

// fail ends the response at once, for the handler and for the reader.
func (a *answer) fail(err error) {
	a.begin(0, err)
	a.pipe.abandon(err)
}

// errBodyClosed is the error of reads after Close, and of the handler's writes after the reader closed the
// body.
var errBodyClosed = errors.New("the body of the answer was closed")

// response waits for the header and returns the response.
func (a *answer) response(q *http.Request, cancel context.CancelCauseFunc) (*http.Response, error) {
	<-a.ready
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)),
		StatusCode: a.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        a.sent,
		Body:          &answerBody{a.pipe, cancel},
		ContentLength: a.length,
		Request:       q,
	}, nil
}

// contentLength returns the Content-Length that the handler set, or -1.
func contentLength(h http.Header) int64 {
	if n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64); err == nil {
		return n
	}
	return -1
}

// answerBody is the reading end of an answer.
type answerBody struct {
	pipe   *pipe
	cancel context.CancelCauseFunc
}

func (b *answerBody) Read(p []byte) (int, error) { return b.pipe.Read(p) }

// Rest returns all unread bytes without a copy if the handler has written its whole response. The caller owns them.
func (b *answerBody) Rest() (data []byte, whole bool) { return b.pipe.rest() }

// Close cancels the handler if it is still running.
func (b *answerBody) Close() error {
	b.pipe.abandon(errBodyClosed)
	b.cancel(errBodyClosed)
	return nil
}
