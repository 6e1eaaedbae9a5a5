package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/bowline-dev/bowline/internal/auth"
)

// stage is a part of the path of a request, and the name of its span. docs/request.md lists the stages.
type stage string

const (
	stageAuthenticate stage = "authenticate" // who sends it
	stageAuthorize    stage = "authorize"    // may they
	stageRoute        stage = "route"        // which kind, and which function for the verb
	stageDecode       stage = "decode"       // the body, into the version of the request, with its defaults
	stageConvert      stage = "convert"      // to the version that the rules work on
	stagePatch        stage = "patch"        // the current object and a patch make the next
	stageOwn          stage = "own"          // which manager set which field
	stageAdmit        stage = "admit"        // plugins change it
	stageValidate     stage = "validate"     // the kind and plugins refuse it
	stageEncode       stage = "encode"       // to the version and the bytes that are kept
	stageCommit       stage = "commit"       // the store and its log
	stageRead         stage = "read"         // the store, for a request that only reads
	stageAnswer       stage = "answer"       // the bytes that the client gets
)

// spans trace one request: a span for it, and below it one for each stage, without gaps. If a write retries
// after a conflict, the repeated stages have new spans. A nil spans traces nothing, at the cost of a
// comparison. It belongs to the request's goroutine.
type spans struct {
	x       *exchange
	tracer  trace.Tracer
	ctx     context.Context // with the request's span
	request trace.Span
	stage   trace.Span
	current stage
}

// tracer returns the tracer of requests; nil without a provider.
func tracer(provider trace.TracerProvider) trace.Tracer {
	if provider == nil {
		return nil
	}
	return provider.Tracer("github.com/bowline-dev/bowline/internal/server",
		trace.WithInstrumentationVersion(KubernetesVersion().GitVersion))
}

// privileged are the groups whose requests may continue a trace (W3C Trace Context, the header traceparent),
// as in kube-apiserver: the sender of a trace decides how much of it is recorded. Traces of other senders are
// linked to.
var privileged = []string{auth.AdminGroup, "system:monitoring"}

// trace starts the spans of a request. The stage authenticate has just ended; user is nil if it failed.
func (s *Server) trace(x *exchange, r *http.Request, user *auth.User) *spans {
	if s.tracer == nil {
		return nil
	}
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(x.begun),
		trace.WithAttributes(requestAttributes(x, r)...),
	}
	ctx := r.Context()
	remote := propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	switch sender := trace.SpanContextFromContext(remote); {
	case !sender.IsValid():
	case mayTrace(user):
		ctx = remote
	default:
		options = append(options, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: sender}))
	}
	p := &spans{x: x, tracer: s.tracer}
	p.ctx, p.request = s.tracer.Start(ctx, x.spanName(r), options...)
	p.current = stageAuthenticate
	_, p.stage = p.tracer.Start(p.ctx, string(p.current), trace.WithTimestamp(x.begun))
	return p
}

func mayTrace(user *auth.User) bool {
	for _, group := range privileged {
		if user != nil && user.In(group) {
			return true
		}
	}
	return false
}

// at ends the current stage and starts the next.
func (p *spans) at(next stage) {
	if p == nil || p.current == next {
		return
	}
	now := trace.WithTimestamp(time.Now())
	p.stage.End(now)
	p.current = next
	_, p.stage = p.tracer.Start(p.ctx, string(next), now)
}

// context returns ctx with the request's span, the parent of spans that plugins start.
func (p *spans) context(ctx context.Context) context.Context {
	if p == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, p.request)
}

// end ends the last stage and the request. It may be called again: a watch is traced until its stream starts,
// so that its trace does not stay open until the watch ends.
func (p *spans) end() {
	if p == nil {
		return
	}
	x, now := p.x, trace.WithTimestamp(time.Now())
	p.request.SetAttributes(semconv.HTTPResponseStatusCode(x.code), semconv.HTTPResponseBodySize(int(x.written)))
	if x.code >= http.StatusInternalServerError {
		p.request.SetStatus(codes.Error, http.StatusText(x.code))
		p.stage.SetStatus(codes.Error, "")
	}
	p.stage.End(now)
	p.request.End(now)
}

// spanName returns the method and the route. It contains neither name nor namespace, to bound the number of
// span names.
func (x *exchange) spanName(r *http.Request) string {
	return strings.TrimSpace(knownMethod(r.Method) + " " + x.route.pattern())
}

// pattern returns the route with its variables in braces; empty if the path is not that of a resource.
func (r *route) pattern() string {
	if !r.resource {
		return ""
	}
	path := "/api/"
	if r.gvr.Group != "" {
		path = "/apis/" + r.gvr.Group + "/"
	}
	path += r.gvr.Version
	if r.namespace != "" && r.gvr.Resource != "namespaces" {
		path += "/namespaces/{namespace}"
	}
	path += "/" + r.gvr.Resource
	if r.name != "" {
		path += "/{name}"
	}
	if r.subresource != "" {
		path += "/" + r.subresource
	}
	return path
}

// knownMethod returns a method of HTTP, or OpenTelemetry's name for an unknown one.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions,
		http.MethodConnect, http.MethodTrace:
		return method
	}
	return "HTTP"
}

// requestAttributes returns OpenTelemetry's attributes of HTTP servers and the parts of the route.
func requestAttributes(x *exchange, r *http.Request) []attribute.KeyValue {
	target := &x.route
	method := semconv.HTTPRequestMethodKey.String(knownMethod(r.Method))
	if knownMethod(r.Method) != r.Method {
		method = semconv.HTTPRequestMethodOther
	}
	out := []attribute.KeyValue{method, semconv.URLPath(r.URL.Path), semconv.UserAgentOriginal(r.UserAgent())}
	if r.URL.RawQuery != "" {
		out = append(out, semconv.URLQuery(r.URL.RawQuery))
	}
	if !target.resource {
		return out
	}
	out = append(out, semconv.HTTPRoute(target.pattern()),
		attribute.String("k8s.request.verb", target.verb), attribute.String("k8s.request.group", target.gvr.Group),
		attribute.String("k8s.request.version", target.gvr.Version),
		attribute.String("k8s.request.resource", target.gvr.Resource))
	for key, value := range map[string]string{
		"k8s.request.subresource": target.subresource, "k8s.request.name": target.name,
		string(semconv.K8SNamespaceNameKey): target.namespace,
	} {
		if value != "" {
			out = append(out, attribute.String(key, value))
		}
	}
	return out
}
