package server_test

import (
	"net/http"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	admissionv1 "k8s.io/api/admission/v1"
)

// The trace of a request has a child span for each webhook, with its audit annotations and the error if it
// failed.
func TestTraceHasSpanOfEachWebhook(t *testing.T) {
	t.Parallel()
	w := startTraced(t, start)
	registerWebhook(t, w.testPlane, mutatingPath, "good",
		startWebhook(t, func(*admissionv1.AdmissionReview) *admissionv1.AdmissionResponse {
			return &admissionv1.AdmissionResponse{Allowed: true, AuditAnnotations: map[string]string{"seen": "by-me"}}
		}), "")
	registerWebhook(t, w.testPlane, validatingPath, "bad", startRawWebhook(t, respond("garbage")),
		`"failurePolicy":"Ignore"`)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
	calls := map[string]sdktrace.ReadOnlySpan{}
	for _, s := range w.spans.Ended() {
		if s.SpanKind() == trace.SpanKindClient {
			calls[s.Name()] = s
		}
	}
	good, bad := calls["webhook good.example.com"], calls["webhook bad.example.com"]
	if good == nil || bad == nil {
		t.Fatalf("traced: %v", names(w.spans.Ended()))
	}
	attributes := map[string]string{}
	for _, a := range good.Attributes() {
		attributes[string(a.Key)] = a.Value.String()
	}
	if attributes["good.example.com/seen"] != "by-me" || attributes["webhook.configuration"] != "good" ||
		good.Parent().TraceID() != bad.Parent().TraceID() {
		t.Errorf("%v", attributes)
	}
	if bad.Status().Code != codes.Error || good.Status().Code == codes.Error {
		t.Errorf("bad ended with %+v, good with %+v", bad.Status(), good.Status())
	}
}
