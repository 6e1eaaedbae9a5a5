package suite

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/examples/sample-controller/pkg/neutron"
)

// Refused checks the behavior of a controller whose server denies access or does not answer, in virtual time.
func Refused(t *testing.T, program Program) {
	t.Parallel()
	for reason, code := range map[metav1.StatusReason]int{
		metav1.StatusReasonUnauthorized: http.StatusUnauthorized, // the credentials have expired
		metav1.StatusReasonForbidden:    http.StatusForbidden,
	} {
		t.Run(string(reason), func(t *testing.T) {
			withFixture(t, program, func(w *fixture) { refused(w, reason, code) }, definitions[0])
		})
	}
	t.Run("compacted watches", func(t *testing.T) { withFixture(t, program, compactedWatches, definitions[0]) })
	t.Run("requests without responses", func(t *testing.T) {
		withFixture(t, program, unansweredRequests, definitions[0])
	})
	t.Run("definition deleted and created again", func(t *testing.T) {
		withFixture(t, program, definitionRecreated, definitions[0])
	})
}

// If the controller may not list Networks, later or from the start, it reports that and leaves all networks
// unchanged: an empty cache does not mean that no Networks exist. It resumes when access is granted again.
func refused(w *fixture, reason metav1.StatusReason, code int) {
	why := "refused in " + w.Name()
	status := refusal(reason, code, why)
	g := w.intercept()
	stop := w.start()
	w.do(w.Declare(w.Context(), "a", spec()))
	w.do(w.Declare(w.Context(), "b", spec()))
	both := map[string]neutron.Network{"a": first, "b": first}
	w.expectNetworks(both)

	g.answer.Store(&answer{code, status})
	time.Sleep(time.Hour) // all previous watches have ended
	w.do(w.Change(w.Context(), "a", change))
	w.do(w.Remove(w.Context(), "b"))
	time.Sleep(time.Hour)
	w.expectNetworks(both)
	if !w.program.Log.has(why) {
		w.Error("the controller did not log that its requests are refused")
	}
	stop()
	stop = w.start()
	time.Sleep(time.Hour)
	w.expectNetworks(both)

	g.answer.Store(nil)
	time.Sleep(2 * time.Minute)
	w.expectNetworks(map[string]neutron.Network{"a": changed})
	stop()
}

// refusal returns an encoded Status.
func refusal(reason metav1.StatusReason, code int, why string) string {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":%q}`
	return fmt.Sprintf(status, reason, code, why)
}

// The server has compacted every version from which a watch is to resume (410). The controller then lists all
// Networks again, at a limited rate.
func compactedWatches(w *fixture) {
	g := w.intercept()
	w.config.QPS = 0 // as in main: client-go has a rate limit
	stop := w.start()
	w.do(w.Declare(w.Context(), "a", spec()))
	w.do(w.Declare(w.Context(), "b", spec()))
	g.answer.Store(&answer{http.StatusGone, refusal(metav1.StatusReasonExpired, http.StatusGone, "forgotten")})
	time.Sleep(time.Hour) // all previous watches have ended
	w.do(w.Change(w.Context(), "a", change))
	w.do(w.Remove(w.Context(), "b"))
	time.Sleep(2 * time.Minute)
	w.expectNetworks(map[string]neutron.Network{"a": changed})
	stop()
	if n := g.answers.Load(); n == 0 || n > 1000 {
		w.Errorf("the controller started %d watches in an hour", n)
	}
}

// A controller can be stopped even if the server accepts requests and never answers.
func unansweredRequests(w *fixture) {
	g := w.intercept()
	stop := w.start()
	w.do(w.Declare(w.Context(), "a", spec()))
	g.answer.Store(&answer{})
	time.Sleep(time.Hour)
	w.expectNetworks(map[string]neutron.Network{"a": first})
	start := time.Now()
	stop()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(time.Minute, cancel)
	if err := w.program.Run(ctx, w.config, w.neutron); err == nil { // it waits for the first response
		w.Error("the controller returned nil, want an error because the server never responded")
	}
	if took := time.Since(start); took > time.Minute+time.Second {
		w.Errorf("stopping twice took %v", took)
	}
}

// When a definition is deleted, its Networks are removed. When it is created again, new Networks are
// processed.
func definitionRecreated(w *fixture) {
	defer w.start()()
	w.do(w.Declare(w.Context(), "a", spec()))
	w.expectNetworks(map[string]neutron.Network{"a": first})
	definition := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	w.do(w.resource(definition).Delete(w.Context(), "", "networks.samplecrd.k8s.io", metav1.DeleteOptions{}))
	time.Sleep(time.Hour)
	w.expectNetworks(nil)
	w.define("network.yaml")
	time.Sleep(time.Minute) // client-go's reflector retries after up to 30 s
	w.do(w.Declare(w.Context(), "b", spec()))
	w.expectNetworks(map[string]neutron.Network{"b": first})
}

// interceptor is a transport that may answer requests for Networks itself, or answer no request at all.
type interceptor struct {
	answer  atomic.Pointer[answer] // nil forwards all requests
	answers atomic.Int64           // the number of requests that it answered itself
}

// answer is a status code and a body. Code 0 means no response. StatusGone applies only to watches that
// resume from a version.
type answer struct {
	code int
	body string
}

func (a *answer) concerns(q *http.Request) bool {
	switch a.code {
	case 0:
		return true
	case http.StatusGone:
		query := q.URL.Query()
		return query.Has("watch") && query.Get("resourceVersion") != "" && strings.Contains(q.URL.Path, "/networks")
	}
	return strings.Contains(q.URL.Path, "/networks")
}

// intercept connects the programs that are started from now on through an interceptor.
func (w *fixture) intercept() *interceptor {
	g := &interceptor{}
	w.config = rest.CopyConfig(w.config)
	w.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &through{next, g} })
	return g
}

type through struct {
	next        http.RoundTripper
	interceptor *interceptor
}

// RoundTrip implements http.RoundTripper.
func (t *through) RoundTrip(q *http.Request) (*http.Response, error) {
	a := t.interceptor.answer.Load()
	if a == nil || !a.concerns(q) {
		return t.next.RoundTrip(q)
	}
	t.interceptor.answers.Add(1)
	if a.code == 0 {
		<-q.Context().Done()
		return nil, q.Context().Err()
	}
	header := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: a.code, Header: header, Body: io.NopCloser(strings.NewReader(a.body)),
		Request: q}, nil
}

// Log records the log lines about refusals. Its zero value is ready, and it is safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	logged strings.Builder
}

// Write implements io.Writer, for a slog.Handler.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.Contains(line, []byte("refused in ")) {
		l.logged.Write(line)
	}
	return len(line), nil
}

func (l *Log) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.logged.String(), text)
}
