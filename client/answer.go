package client

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

// answer is the http.ResponseWriter of one request in process, and what RoundTrip waits for. The handler writes; fail
// may be called from anywhere.
type answer struct {
	method string
	body   io.Closer   // the caller's
	header http.Header // the handler's, until it is sent
	pipe   *pipe
	wrote  int64 // bytes of the body, by the handler

	mu     sync.Mutex
	begun  bool
	ready  chan struct{} // closed when status and sent, or err, are there
	status int
	sent   http.Header // the caller's, once it has the answer
	length int64       // of the body, as the header says; -1 for unknown
	err    error
}

func newAnswer(method string, body io.Closer) *answer {
	return &answer{method: method, body: body, header: http.Header{}, pipe: newPipe(), ready: make(chan struct{})}
}

func (a *answer) Header() http.Header { return a.header }

// WriteHeader sends the header as it stands now. Only the first call counts; informational answers are not passed on.
func (a *answer) WriteHeader(status int) {
	if status >= 100 && status < 200 {
		return
	}
	a.begin(status, nil)
}

// begin settles how the answer begins, once.
func (a *answer) begin(status int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun {
		return
	}
	a.begun = true
	a.status, a.err = status, err
	if err == nil {
		a.sent, a.length = a.header.Clone(), contentLength(a.header)
	}
	close(a.ready)
}

// Write sends the header, if that is still to do, and the next part of the body.
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
	return a.begun
}

// Flush sends the header; what was written is on its way already.
func (a *answer) Flush() { a.WriteHeader(http.StatusOK) }

// SetWriteDeadline bounds how long a write may wait for a reader that has fallen behind. It and the two below are what
// http.ResponseController looks for.
func (a *answer) SetWriteDeadline(at time.Time) error {
	a.pipe.setDeadline(at)
	return nil
}

// SetReadDeadline closes the caller's body when its time is over. A time to come is no deadline here: the context of the
// request has one.
func (a *answer) SetReadDeadline(at time.Time) error {
	if at.IsZero() || at.After(time.Now()) {
		return nil
	}
	return a.body.Close()
}

// EnableFullDuplex does nothing: reading the request while answering is always possible here.
func (a *answer) EnableFullDuplex() error { return nil }

// finish is the orderly end of the handler. A body that is shorter than its header said is broken, as on a socket.
func (a *answer) finish() {
	a.begin(http.StatusOK, nil)
	if a.method != http.MethodHead && a.length > a.wrote {
		a.pipe.end(io.ErrUnexpectedEOF)
		return
	}
	a.pipe.end(io.EOF)
}

// breakOff is the end of a handler that did not get through: the reader gets what was written, then err.
func (a *answer) breakOff(err error) {
	a.begin(0, err)
	a.pipe.end(err)
}

// fail ends the answer for both sides at once.
func (a *answer) fail(err error) {
	a.begin(0, err)
	a.pipe.abandon(err)
}

// errBodyClosed is what a handler's write gets when nobody reads any more, and a read after Close.
var errBodyClosed = errors.New("the body of the answer was closed")

// response waits for the header.
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

// contentLength is what the handler said, or -1 for unknown.
func contentLength(h http.Header) int64 {
	if n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64); err == nil {
		return n
	}
	return -1
}

// answerBody is the reader's end of an answer.
type answerBody struct {
	pipe   *pipe
	cancel context.CancelCauseFunc
}

func (b *answerBody) Read(p []byte) (int, error) { return b.pipe.Read(p) }

// Close cancels the handler, if it still runs.
func (b *answerBody) Close() error {
	b.pipe.abandon(errBodyClosed)
	b.cancel(errBodyClosed)
	return nil
}
