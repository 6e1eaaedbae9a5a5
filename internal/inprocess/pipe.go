package inprocess

import (
	"io"
	"os"
	"sync"
	"time"
)

// pipe carries a response body from the handler's goroutine to the reader's. Like a socket it has a small
// buffer: a writer waits only if the reader falls behind, and at most until the write deadline.
type pipe struct {
	mu      sync.Mutex
	changed sync.Cond
	buf     []byte // unread bytes are buf[read:]
	read    int
	err     error // returned to the reader after the last byte
	broken  error // returned to both sides at once
	timer   *time.Timer
	expired bool // the write deadline has passed
	whole   bool // buffer everything: nobody reads before the handler returns
}

// pipeSize is the most bytes that may be buffered: about what a TCP connection holds.
const pipeSize = 64 << 10

func newPipe() *pipe {
	p := &pipe{}
	p.changed.L = &p.mu
	return p
}

// Read waits for bytes, or for the end of the body.
func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.read == len(p.buf) && p.err == nil && p.broken == nil {
		p.changed.Wait()
	}
	if p.broken != nil {
		return 0, p.broken
	}
	if p.read == len(p.buf) {
		return 0, p.err
	}
	n := copy(b, p.buf[p.read:])
	p.read += n
	if p.read == len(p.buf) {
		p.buf, p.read = p.buf[:0], 0
	}
	p.changed.Broadcast()
	return n, nil
}

// rest returns all unread bytes if the writer has finished. The caller owns them.
func (p *pipe) rest() (data []byte, whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != io.EOF || p.broken != nil {
		return nil, false
	}
	data = p.buf[p.read:]
	p.buf, p.read = nil, 0
	return data, true
}

// Write waits until all of b is in the buffer.
func (p *pipe) Write(b []byte) (written int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		for !p.whole && len(p.buf)-p.read >= pipeSize && p.cannotWrite() == nil {
			p.changed.Wait()
		}
		if err := p.cannotWrite(); err != nil {
			return written, err
		}
		n := len(b)
		if !p.whole {
			n = min(n, pipeSize-(len(p.buf)-p.read))
		}
		p.compact(n)
		p.buf = append(p.buf, b[:n]...)
		b = b[n:]
		written += n
		p.changed.Broadcast()
	}
	return written, nil
}

// compact moves unread bytes to the front of the buffer if n more would not fit.
func (p *pipe) compact(n int) {
	if p.read > 0 && len(p.buf)+n > cap(p.buf) {
		p.buf = p.buf[:copy(p.buf, p.buf[p.read:])]
		p.read = 0
	}
}

func (p *pipe) cannotWrite() error {
	switch {
	case p.broken != nil:
		return p.broken
	case p.err != nil:
		return io.ErrClosedPipe
	case p.expired:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// end is called by the writer: the reader gets what is buffered and then err.
func (p *pipe) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.stopTimer()
	p.changed.Broadcast()
}

// abandon is called by the reader, or when the request is canceled: both sides get err from now on.
func (p *pipe) abandon(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken == nil {
		p.broken, p.buf, p.read = err, nil, 0
	}
	p.stopTimer()
	p.changed.Broadcast()
}

// setDeadline bounds how long writes may wait; the zero time removes the bound.
func (p *pipe) setDeadline(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopTimer()
	p.expired = false
	if at.IsZero() || p.err != nil || p.broken != nil {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(time.Until(at), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.timer == timer { // unless the deadline was changed meanwhile
			p.expired = true
			p.changed.Broadcast()
		}
	})
	p.timer = timer
}

func (p *pipe) stopTimer() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}
