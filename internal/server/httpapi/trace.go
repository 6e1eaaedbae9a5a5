package httpapi

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/server/stage"
)

// privileged are the groups whose requests may continue a trace (W3C Trace Context, the header traceparent),
// as in kube-apiserver: the sender of a trace decides how much of it is recorded. Traces of other senders are
// linked to.
var privileged = []string{auth.AdminGroup, "system:monitoring"}

// trace starts the spans of a request. The stage authenticate has just ended; user is nil if it failed.
func (h *Handler) trace(x *exchange, user *auth.User) *stage.Spans {
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(requestAttributes(x)...),
	}
	ctx := x.r.Context()
	remote := propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(x.r.Header))
	switch sender := trace.SpanContextFromContext(remote); {
	case !sender.IsValid():
	case mayTrace(user):
		ctx = remote
	default:
		options = append(options, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: sender}))
	}
	// The name contains neither name nor namespace, to bound the number of span names.
	name := strings.TrimSpace(knownMethod(x.r.Method) + " " + x.route.Pattern())
	return stage.Start(ctx, h.o.Tracer, name, x.start, options...)
}

func mayTrace(user *auth.User) bool {
	for _, group := range privileged {
		if user != nil && user.In(group) {
			return true
		}
	}
	return false
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
func requestAttributes(x *exchange) []attribute.KeyValue {
	target, r := &x.route, x.r
	method := semconv.HTTPRequestMethodKey.String(knownMethod(r.Method))
	if knownMethod(r.Method) != r.Method {
		method = semconv.HTTPRequestMethodOther
	}
	out := []attribute.KeyValue{method, semconv.URLPath(r.URL.Path), semconv.UserAgentOriginal(r.UserAgent())}
	if r.URL.RawQuery != "" {
		out = append(out, semconv.URLQuery(r.URL.RawQuery))
	}
	if !target.IsResource {
		return out
	}
	out = append(out, semconv.HTTPRoute(target.Pattern()),
		attribute.String("k8s.request.verb", target.Verb), attribute.String("k8s.request.group", target.GVR.Group),
		attribute.String("k8s.request.version", target.GVR.Version),
		attribute.String("k8s.request.resource", target.GVR.Resource))
	for key, value := range map[string]string{
		"k8s.request.subresource": target.Subresource, "k8s.request.name": target.Name,
		string(semconv.K8SNamespaceNameKey): target.Namespace,
	} {
		if value != "" {
			out = append(out, attribute.String(key, value))
		}
	}
	return out
}
