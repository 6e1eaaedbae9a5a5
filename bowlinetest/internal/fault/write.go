package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// write executes a request that changes something.
func (l *lifetime) write(r *request) (*http.Response, error) {
	run := l.process.run
	point, fault := run.reach(l.point(r), l.faultsOf(r)...)
	row := run.row(l.process.name, point.action(), "", fault)
	switch fault {
	case CrashBefore:
		l.crash()
		run.answer(row, "not done: the process has crashed")
		return nil, ErrKilled
	case Refused:
		run.answer(row, "500")
		return status(r, http.StatusInternalServerError, "InternalError", "the server fails"), nil
	case Throttled:
		run.answer(row, "429")
		return status(r, http.StatusTooManyRequests, "TooManyRequests", "the server is busy"), nil
	case Conflict:
		run.answer(row, l.interfere(r, point))
	case Behind:
		l.process.delayEvents(r.resource.String())
	}
	ctx := r.Context()
	if fault == CrashAfter || fault == Lost {
		ctx = context.WithoutCancel(ctx)
	}
	before := len(run.History.Changes(0))
	response, err := l.roundTrip(r, ctx)
	if run.History.changed(before, r.resource) {
		run.recordWrite()
	}
	if err != nil {
		run.answer(row, err.Error())
		return nil, err
	}
	run.answer(row, fmt.Sprint(response.StatusCode))
	l.recordResponse(r, point, response)
	switch fault {
	case CrashAfter:
		l.crash()
		run.answer(row, "and the process has crashed")
		return nil, ErrKilled
	case Lost:
		return nil, errLost
	}
	return response, nil
}

var errLost = fmt.Errorf("reading the answer: %w", io.ErrUnexpectedEOF)

// faultsOf returns the faults that can be injected at a write.
func (l *lifetime) faultsOf(r *request) []Kind {
	kinds := []Kind{CrashBefore, CrashAfter, Refused, Throttled, Lost}
	if r.verb == "update" || r.verb == "patch" || r.verb == "apply" {
		kinds = append(kinds, Conflict)
	}
	if l.process.Watches(r.resource.String()) {
		kinds = append(kinds, Behind)
	}
	return kinds
}

// roundTrip executes a request and reads its whole response. It is canceled by ctx and by the end of the process.
func (l *lifetime) roundTrip(r *request, ctx context.Context) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })()
	response, err := l.process.run.Next.RoundTrip(r.forward().WithContext(ctx))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	err = errors.Join(err, response.Body.Close())
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.Request = r.Request
	return response, err
}

// recordResponse records facts from the response to a write: a name that the server generated, that no conflict was
// possible because there was no object to change, and that the write undid another client's change.
func (l *lifetime) recordResponse(r *request, point Point, response *http.Response) {
	body, _ := io.ReadAll(response.Body) // reads from memory, which cannot fail
	response.Body = io.NopCloser(bytes.NewReader(body))
	switch meta := metaIn(body); response.StatusCode {
	case http.StatusCreated:
		l.process.run.withdraw(point, Conflict)
		if r.generated && meta.Name != "" {
			l.process.run.recordGenerated(r.resource, r.namespace, meta.Name, strings.TrimSuffix(r.name, "*"))
		}
	case http.StatusNotFound:
		l.process.run.withdraw(point, Conflict)
	case http.StatusOK:
		l.overwrites(r, meta)
	}
}

// status returns the response of a server that refused a request.
func status(r *request, code int, reason, message string) *http.Response {
	body, err := json.Marshal(map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure",
		"reason": reason, "message": message, "code": code, "details": map[string]any{"retryAfterSeconds": 1},
	})
	if err != nil {
		panic(err) // unreachable: the map holds only strings, numbers and maps
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if code == http.StatusTooManyRequests {
		header.Set("Retry-After", "1")
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), StatusCode: code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r.Request,
	}
}

// Effect calls do, a side effect outside the API, as a write of the process whose context ctx is. The process
// may crash before or after it, or the effect may fail. Outside of a run, Effect only calls do.
func Effect(ctx context.Context, name string, do func() error) error {
	l, ok := ctx.Value(lifetimeKey{}).(*lifetime)
	if !ok {
		return do()
	}
	if err := l.dead(); err != nil {
		return err
	}
	run := l.process.run
	run.request(l.process)
	at := Point{Process: l.process.name, Verb: "effect", Resource: "external", Object: run.withoutUIDs(name)}
	point, fault := run.reach(at, CrashBefore, CrashAfter, Refused, Lost)
	row := run.row(l.process.name, point.action(), "", fault)
	switch fault {
	case CrashBefore:
		l.crash()
		run.answer(row, "not done: the process has crashed")
		return ErrKilled
	case Refused:
		run.answer(row, "not done: refused")
		return errors.New("refused")
	}
	run.recordWrite()
	err := do()
	if run.answer(row, "done"); err != nil {
		run.answer(row, err.Error())
	}
	switch fault {
	case CrashAfter:
		l.crash()
		run.answer(row, "and the process has crashed")
		return ErrKilled
	case Lost:
		return errLost
	}
	return err
}
