package server

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// stream is the body of a watch: frames are gathered and written together, and a client that stops reading is cut off.
type stream struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	buf    []byte
	events int
	// sent counts the frames that were flushed, of which counted are in it.
	sent    prometheus.Counter
	counted int
	// rested is how many events there were at the last rest.
	rested int
	// dirty says that something was written and not flushed.
	dirty bool
	// stall cuts off a client that leaves a write waiting for as long as patience lasts.
	stall  *time.Timer
	broken bool

	// mu orders the end of the stream and stall, which must not touch the ResponseWriter after it.
	mu       sync.Mutex
	patience time.Duration
	writing  bool
	ended    bool
}

// lastPatience is how long a write may wait once the server closes.
const lastPatience = time.Second

// newStream sends the head of the answer.
func newStream(c *call, patience time.Duration, sent prometheus.Counter) *stream {
	c.w.Header().Set("Cache-Control", "no-cache, private")
	c.w.Header().Set("Content-Type", c.accept.streamType())
	c.sendWarnings()
	c.w.WriteHeader(http.StatusOK)
	s := &stream{w: c.w, rc: http.NewResponseController(c.w), dirty: true, patience: patience, sent: sent}
	s.stall = time.AfterFunc(time.Hour, s.cutOff)
	s.stall.Stop()
	return s
}

// write adds a frame, and writes what was gathered once it is enough. The stream keeps no part of the frame.
func (s *stream) write(frame []byte) error {
	s.events++
	if len(s.buf) == 0 && len(frame) >= batchBytes {
		return s.put(frame)
	}
	s.buf = append(s.buf, frame...)
	if len(s.buf) < batchBytes {
		return nil
	}
	return s.spill()
}

func (s *stream) spill() error {
	err := s.put(s.buf)
	s.buf = s.buf[:0]
	if cap(s.buf) > 2*batchBytes {
		s.buf = nil
	}
	return err
}

func (s *stream) put(data []byte) error {
	s.dirty = true
	s.begin()
	_, err := s.w.Write(data)
	s.done()
	s.broken = s.broken || err != nil
	return err
}

// flush sends what was gathered to the client.
func (s *stream) flush() error {
	if len(s.buf) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	if !s.dirty {
		return nil
	}
	s.dirty = false
	s.sent.Add(float64(s.events - s.counted))
	s.counted = s.events
	s.begin()
	err := s.rc.Flush()
	s.done()
	s.broken = s.broken || err != nil
	return err
}

// rest gives back the room that gathering took, when nothing was sent since the last rest.
func (s *stream) rest() {
	if s.events == s.rested {
		s.buf = nil
	}
	s.rested = s.events
}

// begin and done are around each write: stall runs in between.
func (s *stream) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = true
	s.stall.Reset(s.patience)
}

func (s *stream) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = false
	s.stall.Stop()
}

// hurry leaves writes little time from now on.
func (s *stream) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.patience = min(s.patience, lastPatience)
	if s.writing {
		s.stall.Reset(s.patience)
	}
}

// cutOff makes a write that waits fail.
func (s *stream) cutOff() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.rc.SetWriteDeadline(time.Now())
	}
}

func (s *stream) close() {
	s.stall.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}
