package httpapi

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bowline-dev/bowline/internal/server/request"
)

const (
	// batchBytes is the number of gathered bytes before a write.
	batchBytes = 64 << 10
	// lastPatience is how long a write may block once the server closes.
	lastPatience = time.Second
)

// stream is the body of a watch. It gathers frames and writes them together, and disconnects a client that
// stops reading.
type stream struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	buf    []byte
	events int
	// sent is the metric of flushed frames; counted is how many of events it includes.
	sent    prometheus.Counter
	counted int
	// rested is the value of events at the last rest.
	rested int
	// dirty reports whether bytes were written and not flushed.
	dirty bool
	// stall disconnects a client that blocks a write for the duration of patience.
	stall  *time.Timer
	broken bool

	// mu serializes close with stall, which must not use the ResponseWriter after close.
	mu       sync.Mutex
	patience time.Duration
	writing  bool
	ended    bool
}

// newStream sends the head of the answer.
func newStream(w http.ResponseWriter, req *request.Request, patience time.Duration, sent prometheus.Counter) *stream {
	w.Header().Set("Cache-Control", "no-cache, private")
	w.Header().Set("Content-Type", req.Accept.StreamType())
	sendWarnings(w, req.Warnings)
	w.WriteHeader(http.StatusOK)
	s := &stream{w: w, rc: http.NewResponseController(w), dirty: true, patience: patience, sent: sent}
	s.stall = time.AfterFunc(time.Hour, s.cutOff)
	s.stall.Stop()
	return s
}

// write adds a frame, and writes the gathered frames once there are enough. The stream does not retain frame.
func (s *stream) write(frame []byte) error {
	s.events++
	if len(s.buf) == 0 && len(frame) >= batchBytes {
		return s.put(frame, false)
	}
	s.buf = append(s.buf, frame...)
	if len(s.buf) < batchBytes {
		return nil
	}
	return s.put(s.buf, false)
}

// flush sends the gathered frames to the client.
func (s *stream) flush() error {
	if len(s.buf) == 0 && !s.dirty {
		return nil
	}
	if len(s.buf) > 0 {
		if err := s.put(s.buf, false); err != nil {
			return err
		}
	}
	s.sent.Add(float64(s.events - s.counted))
	s.counted = s.events
	return s.put(nil, true)
}

// put writes data, which may be buf, and flushes it if asked to. The stall timer runs meanwhile.
func (s *stream) put(data []byte, flush bool) (err error) {
	s.mu.Lock()
	s.writing = true
	s.stall.Reset(s.patience)
	s.mu.Unlock()
	if s.dirty = !flush; len(data) > 0 {
		_, err = s.w.Write(data)
	}
	if flush && err == nil {
		err = s.rc.Flush()
	}
	s.mu.Lock()
	s.writing = false
	s.stall.Stop()
	s.mu.Unlock()
	s.broken = s.broken || err != nil
	if s.buf = s.buf[:0]; cap(s.buf) > 2*batchBytes {
		s.buf = nil
	}
	return err
}

// rest frees the buffer if nothing was sent since the last rest.
func (s *stream) rest() {
	if s.events == s.rested {
		s.buf = nil
	}
	s.rested = s.events
}

// shortenPatience reduces the time that a write may block to lastPatience.
func (s *stream) shortenPatience() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.patience = min(s.patience, lastPatience)
	if s.writing {
		s.stall.Reset(s.patience)
	}
}

// cutOff makes a blocked write fail.
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
