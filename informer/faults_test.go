package informer_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// faulty is a connection that injects one fault, at the n-th event of all its watches.
type faulty struct {
	next  http.RoundTripper
	fault fault
	at    int

	mu       sync.Mutex
	events   int
	injected bool
	after    int // how many requests were answered after the fault began
}

// fault changes the stream at an event and the responses to later requests. Either function may be nil.
type fault struct {
	// stream returns the bytes to send instead of an event's frame, and the error that ends the stream, or nil to
	// continue.
	stream func(frame []byte, cut <-chan struct{}) ([]byte, error)
	// request answers the n-th request after the event, from 0; nil lets it through.
	request func(r *http.Request, n int) *http.Response
}

var errReset = errors.New("connection reset by peer")

func cut([]byte, <-chan struct{}) ([]byte, error) { return nil, errReset }

// answers returns a fault that answers a number of requests after the event with a status.
func answers(status, times int, header ...string) fault {
	return fault{stream: cut, request: func(_ *http.Request, n int) *http.Response {
		if n >= times {
			return nil
		}
		return statusAnswer(status, header...)
	}}
}

func statusAnswer(status int, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	body := `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"injected","code":` +
		strconv.Itoa(status) + `}`
	if status == http.StatusGone {
		body = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"injected","reason":"Expired","code":410}`
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// connectionFaults are the faults of the connection between an informer and its server.
var connectionFaults = map[string]fault{
	"the connection breaks":     {stream: cut},
	"the server ends the watch": {stream: func([]byte, <-chan struct{}) ([]byte, error) { return nil, io.EOF }},
	"half a frame": {stream: func(frame []byte, _ <-chan struct{}) ([]byte, error) {
		return frame[:len(frame)/2], io.EOF
	}},
	"half a frame, then silence": {stream: func(frame []byte, cut <-chan struct{}) ([]byte, error) {
		return frame[:len(frame)/2], silent(cut)
	}},
	"silence": {stream: func(_ []byte, cut <-chan struct{}) ([]byte, error) { return nil, silent(cut) }},
	"no JSON, no protobuf": {stream: func([]byte, <-chan struct{}) ([]byte, error) {
		return []byte("<html>proxy error</html>"), io.EOF
	}},
	"an object without a name": {stream: func(frame []byte, _ <-chan struct{}) ([]byte, error) {
		if frame[0] == 0 {
			// change the field number of the name
			return bytes.Replace(frame, []byte{'\n', 1}, []byte{'Z', 1}, 1), nil
		}
		return bytes.Replace(frame, []byte(`"name":`), []byte(`"mane":`), 1), nil
	}},
	"the place is forgotten":                       answers(http.StatusGone, 1),
	"the place is forgotten, and again":            answers(http.StatusGone, 5),
	"too many requests":                            answers(http.StatusTooManyRequests, 3, "Retry-After", "2"),
	"internal errors":                              answers(http.StatusInternalServerError, 4),
	"bad gateway":                                  answers(http.StatusBadGateway, 4),
	"unavailable":                                  answers(http.StatusServiceUnavailable, 4, "Retry-After", "1"),
	"not found for a while":                        answers(http.StatusNotFound, 3),
	"half of the list that follows a lost place":   halfList(io.EOF),
	"the list after a lost place never comes back": halfList(nil),
	"connections are refused": {stream: cut, request: func(_ *http.Request, n int) *http.Response {
		if n >= 3 {
			return nil
		}
		return connectionRefused
	}},
}

// connectionRefused stands for a connection that cannot be established.
var connectionRefused = &http.Response{}

// silent sends nothing until the client closes the connection.
func silent(cut <-chan struct{}) error {
	<-cut
	return errReset
}

// halfList expires the watch's revision, and cuts off the end of the next list.
func halfList(end error) fault {
	return fault{stream: cut, request: func(r *http.Request, n int) *http.Response {
		switch n {
		case 0:
			return statusAnswer(http.StatusGone)
		case 1:
			ctx, cancel := context.WithCancel(r.Context())
			body := &cutBody{close: cancel, next: func() ([]byte, error) {
				if end == nil {
					return nil, silent(ctx.Done())
				}
				return nil, end
			}}
			body.pending = []byte(`{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":`)
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
				Body: body}
		}
		return nil
	}}
}

// RoundTrip sends requests, and injects the fault at its event.
func (f *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	var answer *http.Response
	if f.injected && f.fault.request != nil {
		answer = f.fault.request(r, f.after)
		f.after++
	}
	f.mu.Unlock()
	if answer == connectionRefused {
		return nil, errors.New("connection refused")
	}
	if answer != nil {
		answer.Request = r
		return answer, nil
	}
	answer, err := f.next.RoundTrip(r)
	if err != nil || r.URL.Query().Get("watch") != "true" || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	from := bufio.NewReader(answer.Body)
	ctx, cancel := context.WithCancel(r.Context())
	answer.Body = &cutBody{closer: answer.Body, close: cancel, next: func() ([]byte, error) {
		frame, err := readFrame(from)
		if err != nil || !f.isAt(frame) {
			return frame, err
		}
		return f.fault.stream(frame, ctx.Done())
	}}
	return answer, nil
}

// isAt reports whether the fault is to be injected at this event.
func (f *faulty) isAt(frame []byte) bool {
	// An error event about the revision does not count: otherwise, a client would reach any event by listing
	// repeatedly.
	if bytes.Contains(frame, []byte("BOOKMARK")) || bytes.Contains(frame, []byte("ERROR")) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events++
	if f.injected || f.events != f.at {
		return false
	}
	f.injected = true
	return true
}

func (f *faulty) wasInjected() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.injected
}

// readFrame reads an event: a line, or a message with its length before it.
func readFrame(from *bufio.Reader) ([]byte, error) {
	first, err := from.Peek(4)
	if err != nil {
		return nil, err
	}
	if first[0] != 0 {
		return from.ReadBytes('\n')
	}
	frame := make([]byte, 4+binary.BigEndian.Uint32(first))
	_, err = io.ReadFull(from, frame)
	return frame, err
}

// cutBody is a body of frames. A reader gets the bytes that next returns together with an error.
type cutBody struct {
	closer  io.Closer
	next    func() ([]byte, error)
	pending []byte
	err     error
	close   func()
}

func (b *cutBody) Read(into []byte) (int, error) {
	for len(b.pending) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.pending, b.err = b.next()
	}
	n := copy(into, b.pending)
	b.pending = b.pending[n:]
	return n, nil
}

func (b *cutBody) Close() error {
	b.close()
	if b.closer == nil {
		return nil
	}
	return b.closer.Close()
}
