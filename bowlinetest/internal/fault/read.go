package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/internal/object"
)

// read executes a GET or a LIST.
func (l *lifetime) read(r *request) (*http.Response, error) {
	run := l.process.run
	point, fault := run.reach(l.point(r), Stale)
	if fault != Stale {
		return l.roundTrip(r, r.Context())
	}
	if r.verb == "list" && l.older(r) {
		l.process.delayEvents(r.resource.String())
		run.row(l.process.name, point.action(), "an older state", Stale)
		return l.roundTrip(r, r.Context())
	}
	row := run.row(l.process.name, point.action(), "", Stale)
	response, err := l.roundTrip(r, r.Context())
	if err != nil {
		return nil, err
	}
	run.answer(row, "the current state, "+run.Lag.String()+" late")
	return response, l.sleep(r.Context(), run.Lag)
}

// older rewrites a list that accepts any version into one of the state before the resource's last change. It
// returns false if that is not possible.
func (l *lifetime) older(r *request) bool {
	q := r.URL.Query()
	wanted := q.Get("resourceVersion")
	if wanted == "" || q.Get("resourceVersionMatch") == "Exact" || q.Has("continue") {
		return false
	}
	least, err := object.ParseRevision(wanted)
	revision := l.process.run.History.before(r.resource)
	if err != nil || revision == 0 || revision < least {
		return false
	}
	q.Set("resourceVersion", revision.String())
	q.Set("resourceVersionMatch", "Exact")
	r.Request = r.Clone(r.Context())
	r.URL.RawQuery = q.Encode()
	return true
}

// sleep waits for d, or until the process or ctx ends.
func (l *lifetime) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.ctx.Done():
		return l.dead()
	}
}

// watch starts a watch, whose response is read through events.
func (l *lifetime) watch(r *request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	unlink := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	response, err := l.process.run.Next.RoundTrip(r.forward().WithContext(ctx))
	if err != nil {
		unlink()
		cancel(nil)
		return nil, err
	}
	response.Request = r.Request
	end := func() {
		unlink()
		cancel(nil)
	}
	e := &events{lifetime: l, request: r, ctx: ctx, end: end, body: response.Body}
	if response.StatusCode == http.StatusOK && !r.ignored {
		l.process.mu.Lock()
		l.process.watches[r.resource.String()] = true
		l.process.mu.Unlock()
		e.begin()
	}
	response.Body = e
	return response, nil
}

// events is the body of a watch's response. It injects faults while the process reads it.
type events struct {
	lifetime *lifetime
	request  *request
	ctx      context.Context
	end      func()
	body     io.ReadCloser
	decoder  *json.Decoder // nil if the body is passed on unchanged
	initial  bool          // the next frames are initial events
	buffer   bytes.Buffer  // bytes that Read has not returned yet
	err      error         // returned after the buffer
}

// begin starts the decoding of frames.
func (e *events) begin() {
	e.decoder = json.NewDecoder(e.body)
	if s := e.request.URL.Query().Get("sendInitialEvents"); s != "true" && s != "1" {
		return
	}
	e.initial = true
	at := e.lifetime.point(e.request)
	at.Verb = "list"
	if point, fault := e.lifetime.process.run.reach(at, Stale); fault == Stale {
		e.lifetime.process.run.row(point.Process, point.action(),
			"the current state, "+e.lifetime.process.run.Lag.String()+" late",
			Stale)
		e.err = e.lifetime.sleep(e.ctx, e.lifetime.process.run.Lag)
	}
}

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	if e.decoder == nil {
		return e.body.Read(p)
	}
	for e.buffer.Len() == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.next()
	}
	return e.buffer.Read(p)
}

// Close ends the watch.
func (e *events) Close() error {
	e.end()
	return e.body.Close()
}

// frame holds the fields of an event that matter here.
type frame struct {
	Type   string `json:"type"`
	Object struct {
		Metadata struct {
			Namespace, Name, GenerateName string
			Annotations                   map[string]string
		} `json:"metadata"`
	} `json:"object"`
}

// next reads one frame.
func (e *events) next() {
	var raw json.RawMessage
	if e.err = e.decoder.Decode(&raw); e.err != nil {
		return
	}
	var f frame
	if e.err = json.Unmarshal(raw, &f); e.err != nil {
		return
	}
	resource := e.request.resource
	for wait := time.Until(e.lifetime.process.behindUntil(resource.String())); wait > 0 && e.err == nil; {
		e.err = e.lifetime.sleep(e.ctx, wait)
		wait = time.Until(e.lifetime.process.behindUntil(resource.String()))
	}
	meta := f.Object.Metadata
	switch {
	case f.Type == "BOOKMARK" && meta.Annotations["k8s.io/initial-events-end"] == "true":
		e.initial = false
	case f.Type == "ADDED" && !e.initial, f.Type == "MODIFIED", f.Type == "DELETED":
		if end, ok := strings.CutPrefix(meta.Name, meta.GenerateName); ok && meta.GenerateName != "" &&
			generatedSuffix.MatchString(end) {
			e.lifetime.process.run.recordGenerated(resource, meta.Namespace, meta.Name, meta.GenerateName)
		}
		e.event(raw, f)
		return
	}
	e.emit(raw)
}

func (e *events) emit(raw []byte) {
	e.buffer.Write(raw)
	e.buffer.WriteByte('\n')
}

// event emits an event with the fault that the plan has for it.
func (e *events) event(raw []byte, f frame) {
	run := e.lifetime.process.run
	meta := f.Object.Metadata
	point, fault := run.reach(Point{
		Process: e.lifetime.process.name, Verb: f.Type, Resource: e.request.resource.String(),
		Object: run.stable(e.request.resource, meta.Namespace, meta.Name),
	}, Delayed, Doubled, Dropped)
	switch fault {
	case Delayed:
		run.row(point.Process, "event "+point.action(), "delayed by "+run.Lag.String(), Delayed)
		e.err = e.lifetime.sleep(e.ctx, run.Lag)
	case Doubled:
		run.row(point.Process, "event "+point.action(), "delivered twice", Doubled)
		e.emit(raw)
	case Dropped:
		run.row(point.Process, "event "+point.action(), "not delivered; 410 Gone after "+run.Lag.String(),
			Dropped)
		if e.err = e.lifetime.sleep(e.ctx, run.Lag); e.err == nil {
			raw, e.err = []byte(expiredEvent), io.EOF
			e.body.Close()
		}
	}
	e.emit(raw)
}

// expiredEvent is the last event of a watch whose revision is no longer available.
const expiredEvent = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
	`"message":"too old resource version","reason":"Expired","code":410}}`
