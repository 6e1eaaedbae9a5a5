package webhook

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	admissionv1 "k8s.io/api/admission/v1"
)

// traced runs ask within a child span if the request is traced. The span records the webhook, its error, and
// its audit annotations.
func (h *hook) traced(ctx context.Context, r *review,
	ask func(context.Context) (*admissionv1.AdmissionResponse, error)) (*admissionv1.AdmissionResponse, error) {
	request := trace.SpanFromContext(ctx)
	if !request.IsRecording() {
		return ask(ctx)
	}
	tracer := request.TracerProvider().Tracer("github.com/bowline-dev/bowline/admission/webhook")
	ctx, span := tracer.Start(ctx, "webhook "+h.Name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("webhook.configuration", h.id.configuration), attribute.String("webhook.uid", string(r.uid))))
	defer span.End()
	response, err := ask(ctx)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	if response != nil {
		for key, value := range response.AuditAnnotations {
			span.SetAttributes(attribute.String(h.Name+"/"+key, value))
		}
	}
	return response, err
}
