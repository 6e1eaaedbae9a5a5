package server_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline"
)

// tracing is a plane whose spans are recorded.
type tracing struct {
	*testPlane
	spans *tracetest.SpanRecorder
}

func startTraced(t *testing.T, start func(testing.TB, ...func(*bowline.Options)) *testPlane) *tracing {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	w := start(t, func(o *bowline.Options) { o.TracerProvider = provider })
	return &tracing{w, recorder}
}

// requests returns the spans of requests to a route, in the order in which they ended.
func (w *tracing) requests(name string) []sdktrace.ReadOnlySpan {
	var out []sdktrace.ReadOnlySpan
	for _, s := range w.spans.Ended() {
		if s.Name() == name && s.SpanKind() == trace.SpanKindServer {
			out = append(out, s)
		}
	}
	return out
}

// one returns the only request to a route.
func (w *tracing) one(t *testing.T, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	found := w.requests(name)
	if len(found) != 1 {
		t.Fatalf("%d requests %q were traced, want one; spans: %v", len(found), name, names(w.spans.Ended()))
	}
	return found[0]
}

// stages returns the names of the child spans of a request, in order. They must not overlap or leave a gap.
func (w *tracing) stages(t *testing.T, request sdktrace.ReadOnlySpan) []string {
	t.Helper()
	var below []sdktrace.ReadOnlySpan
	for _, s := range w.spans.Ended() {
		if s.Parent().SpanID() == request.SpanContext().SpanID() {
			below = append(below, s)
		}
	}
	slices.SortStableFunc(below, func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	at := request.StartTime()
	for _, s := range below {
		if !s.StartTime().Equal(at) {
			t.Errorf("%s begins %v after the stage before it ended", s.Name(), s.StartTime().Sub(at))
		}
		at = s.EndTime()
	}
	if !at.Equal(request.EndTime()) {
		t.Errorf("the last stage ends %v before the request", request.EndTime().Sub(at))
	}
	return names(below)
}

func names(spans []sdktrace.ReadOnlySpan) []string {
	var out []string
	for _, s := range spans {
		out = append(out, s.Name())
	}
	return out
}

func attribute(s sdktrace.ReadOnlySpan, key string) string {
	for _, a := range s.Attributes() {
		if string(a.Key) == key {
			return a.Value.String()
		}
	}
	return ""
}

const (
	configMapRoute  = "/api/v1/namespaces/{namespace}/configmaps"
	configMapsRoute = configMapRoute + "/{name}"
)

// The stages of a create are the rows of docs/request.md, and the functions that the document names exist.
func TestCreateTraceMatchesDocument(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/request.md")
	if err != nil {
		t.Fatal(err)
	}
	var drawn []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|.*\\| (.*) \\|$").FindAllStringSubmatch(string(data),
		-1) {
		drawn = append(drawn, row[1])
		for _, place := range regexp.MustCompile(`\[(\w+)\]\(\.\./([\w/.]+)\)`).FindAllStringSubmatch(row[2], -1) {
			source, err := os.ReadFile("../../" + place[2])
			if err != nil || !regexp.MustCompile(`(?m)^(func (\(.*\) )?|	)`+place[1]+`\b`).Match(source) {
				t.Errorf("the document locates the stage %s in %s of %s, which does not exist (%v)", row[1], place[1],
					place[2],
					err)
			}
		}
	}
	w := startTraced(t, start)
	w.createConfigMaps(t, "default", "a")
	if got := w.stages(t, w.one(t, "POST "+configMapRoute)); !slices.Equal(got, drawn) {
		t.Errorf("the stages of a create are %q, and the document lists %q", got, drawn)
	}
}

// A span has OpenTelemetry's attributes of HTTP, and those of the Kubernetes request.
func TestSpanAttributes(t *testing.T) {
	t.Parallel()
	w := startTraced(t, start)
	w.get(t, configMaps+"/a?pretty=1", "User-Agent", "test/1").want(t, http.StatusNotFound)
	s := w.one(t, "GET "+configMapsRoute)
	for key, want := range map[string]string{
		"http.request.method": "GET", "http.route": configMapsRoute, "url.path": configMaps + "/a",
		"url.query":                 "pretty=1",
		"http.response.status_code": "404", "user_agent.original": "test/1", "k8s.namespace.name": "default",
		"k8s.request.verb": "get", "k8s.request.version": "v1", "k8s.request.resource": "configmaps",
		"k8s.request.name": "a",
	} {
		if got := attribute(s, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	w.send(t, "BREW", "/pots", "").want(t, http.StatusNotFound)
	if got := attribute(w.one(t, "HTTP"), "http.request.method"); got != "_OTHER" {
		t.Errorf("the method attribute of an unknown method is %q", got)
	}
}

// The span of a watch ends when its stream begins.
func TestWatchSpanEndsWhenStreamBegins(t *testing.T) {
	t.Parallel()
	w := startTraced(t, start)
	w.createConfigMaps(t, "default", "a")
	s := w.open(t, configMaps+"?watch=1")
	s.next(t)
	w.createConfigMaps(t, "default", "b")
	s.next(t)
	if got := strings.Join(w.stages(t, w.one(t, "GET "+configMapRoute)),
		" "); got != "authenticate authorize route answer" {
		t.Errorf("the stages of a watch are %s", got)
	}
}

// A deletecollection has one span for all objects, so that the size of its trace is bounded.
func TestDeleteCollectionHasOneSpan(t *testing.T) {
	t.Parallel()
	w := startTraced(t, start)
	w.createConfigMaps(t, "default", "a", "b", "c")
	w.send(t, http.MethodDelete, configMaps, "").want(t, http.StatusOK)
	if got := strings.Join(w.stages(t, w.one(t, "DELETE "+configMapRoute)),
		" "); got != "authenticate authorize route read commit answer" {
		t.Errorf("the stages of a deletecollection are %s", got)
	}
}

// The trace of a rejected request ends with the stage that rejected it.
func TestTraceOfRejectedRequest(t *testing.T) {
	t.Parallel()
	w := startTraced(t, startTLS)
	somebody := w.as(t, must(w.IssueClient("somebody"))(t))
	anonymous := rest.CopyConfig(w.config)
	anonymous.CertData, anonymous.KeyData = nil, nil
	w.as(t, anonymous).get(t, configMaps+"/a").want(t, http.StatusUnauthorized)
	somebody.get(t, configMaps).want(t, http.StatusForbidden)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"-"}}`).want(t, http.StatusUnprocessableEntity)
	w.get(t, "/api/v1/nothings").want(t, http.StatusNotFound)
	for request, want := range map[string]string{
		"GET " + configMapsRoute: "authenticate answer",
		"GET " + configMapRoute:  "authenticate authorize answer",
		"POST " + configMapRoute: "authenticate authorize route decode convert own admit validate answer",
		"GET /api/v1/nothings":   "authenticate authorize route answer",
	} {
		if got := strings.Join(w.stages(t, w.one(t, request)), " "); got != want {
			t.Errorf("the stages of %s are %s, want %s", request, got, want)
		}
	}
}

// Only privileged users can continue a trace (W3C Trace Context). The traces of other users are linked, so
// that these users do not control the sampling.
func TestOnlyPrivilegedUsersContinueTrace(t *testing.T) {
	t.Parallel()
	w := startTraced(t, startTLS)
	const traceID, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	header := fmt.Sprintf("00-%s-%s-01", traceID, parent)
	somebody := w.as(t, must(w.IssueClient("somebody"))(t))
	w.get(t, "/readyz", "traceparent", header).want(t, http.StatusOK)
	somebody.get(t, "/version", "traceparent", header).want(t, http.StatusOK)
	w.get(t, "/livez", "traceparent", "nonsense").want(t, http.StatusOK)
	for _, s := range w.requests("GET") {
		id, links := s.SpanContext().TraceID().String(), s.Links()
		switch path := attribute(s, "url.path"); path {
		case "/readyz":
			if id != traceID || s.Parent().SpanID().String() != parent {
				t.Errorf("the administrator's trace is %s below %s", id, s.Parent().SpanID())
			}
		case "/version":
			if id == traceID || s.Parent().IsValid() || len(links) != 1 ||
				links[0].SpanContext.TraceID().String() != traceID {
				t.Errorf("the trace of an unprivileged user is %s below %s, with links %v", id,
					s.Parent().SpanID(), links)
			}
		case "/livez":
			if id == traceID || len(links) != 0 {
				t.Errorf("the trace of an invalid header is %s, with links %v", id, links)
			}
		}
	}
}
