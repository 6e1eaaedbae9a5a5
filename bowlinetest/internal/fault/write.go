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

// write makes a request that changes something.
func (l *life) write(r *request) (*http.Response, error) {
	run := l.process.run
	point, faults := run.reach(l.point(r), l.faultsOf(r)...)
	row := run.row(l.process.name, point.what(), "", "")
	for kind := range faults {
		row.Fault = kind
	}
	switch {
	case faults[CrashBefore]:
		l.crash()
		run.answer(row, "not done: the process has crashed")
		return nil, ErrKilled
	case faults[Refused]:
		run.answer(row, "500")
		return status(r, http.StatusInternalServerError, "InternalError", "the server is out of order"), nil
	case faults[Throttled]:
		run.answer(row, "429")
		return status(r, http.StatusTooManyRequests, "TooManyRequests", "the server is busy"), nil
	case faults[Conflict]:
		run.answer(row, l.interfere(r))
	case faults[Behind]:
		l.process.keepBehind(r.resource.String())
	}
	ctx := r.Context()
	if faults[CrashAfter] || faults[Lost] {
		ctx = context.WithoutCancel(ctx)
	}
	run.wrote()
	response, err := l.whole(r, ctx)
	if err != nil {
		run.answer(row, err.Error())
		return nil, err
	}
	run.answer(row, fmt.Sprint(response.StatusCode))
	l.learnName(r, response)
	switch {
	case faults[CrashAfter]:
		l.crash()
		run.answer(row, "and the process has crashed")
		return nil, ErrKilled
	case faults[Lost]:
		return nil, errLost
	}
	return response, nil
}

var errLost = fmt.Errorf("reading the answer: %w", io.ErrUnexpectedEOF)

// faultsOf are the kinds that a write may meet.
func (l *life) faultsOf(r *request) []Kind {
	kinds := []Kind{CrashBefore, CrashAfter, Refused, Throttled, Lost}
	if r.verb == "update" || r.verb == "patch" || r.verb == "apply" {
		kinds = append(kinds, Conflict)
	}
	if l.process.Watches(r.resource.String()) {
		kinds = append(kinds, Behind)
	}
	return kinds
}

// whole makes a request and takes its whole answer. It ends with ctx and with the process.
func (l *life) whole(r *request, ctx context.Context) (*http.Response, error) {
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

// learnName remembers a name that the server has made up.
func (l *life) learnName(r *request, response *http.Response) {
	if !r.generated || response.StatusCode != http.StatusCreated {
		return
	}
	body, _ := io.ReadAll(response.Body)
	response.Body = io.NopCloser(bytes.NewReader(body))
	if name, _ := nameIn(body); name != "" {
		l.process.run.learn(r.resource, r.namespace, name, strings.TrimSuffix(r.name, "*"))
	}
}

// Touched is the annotation that a conflict is made with.
const Touched = "explore.bowline.dev/touched"

// interfere changes the object that a request is about to change, as somebody else would.
func (l *life) interfere(r *request) string {
	patch := []byte(`{"metadata":{"annotations":{"` + Touched + `":"yes"}}}`)
	touch := r.Clone(r.Context())
	touch.Method, touch.URL.RawQuery = http.MethodPatch, "fieldManager=explore"
	touch.URL.Path, touch.URL.RawPath = strings.TrimSuffix(r.URL.Path, "/"+r.sub), ""
	if r.sub == "" {
		touch.URL.Path = r.URL.Path
	}
	touch.Header = http.Header{"Content-Type": {"application/merge-patch+json"}, "Accept": {"application/json"}}
	touch.Body, touch.ContentLength = io.NopCloser(bytes.NewReader(patch)), int64(len(patch))
	response, err := l.process.run.Next.RoundTrip(touch)
	if err != nil {
		return "somebody else's change failed: " + err.Error() + ";"
	}
	io.Copy(io.Discard, response.Body) // who reads the plane's own answer cannot fail
	response.Body.Close()
	return "somebody else changed it first;"
}

// status is the answer of a server that did nothing.
func status(r *request, code int, reason, message string) *http.Response {
	body, err := json.Marshal(map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure",
		"reason": reason, "message": message, "code": code, "details": map[string]any{"retryAfterSeconds": 1},
	})
	if err != nil {
		panic(err) // it is a map of texts
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

// Effect does something outside of the API as a write of the process whose context it is, which may crash before and after
// it, or fail. Outside of a run it only does it.
func Effect(ctx context.Context, name string, do func() error) error {
	l, ok := ctx.Value(lifeKey{}).(*life)
	if !ok {
		return do()
	}
	if err := l.dead(); err != nil {
		return err
	}
	run := l.process.run
	run.request()
	at := Point{Process: l.process.name, Verb: "effect", Resource: "outside", Object: run.withoutUIDs(name)}
	point, faults := run.reach(at, CrashBefore, CrashAfter, Refused, Lost)
	row := run.row(l.process.name, point.what(), "", "")
	for kind := range faults {
		row.Fault = kind
	}
	switch {
	case faults[CrashBefore]:
		l.crash()
		run.answer(row, "not done: the process has crashed")
		return ErrKilled
	case faults[Refused]:
		run.answer(row, "not done: refused")
		return errors.New("refused")
	}
	run.wrote()
	err := do()
	if run.answer(row, "done"); err != nil {
		run.answer(row, err.Error())
	}
	switch {
	case faults[CrashAfter]:
		l.crash()
		run.answer(row, "and the process has crashed")
		return ErrKilled
	case faults[Lost]:
		return errLost
	}
	return err
}
