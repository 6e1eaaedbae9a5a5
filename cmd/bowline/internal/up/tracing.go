package up

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/cmd/bowline/internal/version"
)

// flushLimit bounds the time that stopping waits for the collector to accept the last spans.
const flushLimit = 5 * time.Second

// startTracing exports request spans to the collector named by OpenTelemetry's environment variables. If no
// endpoint is set, the provider is nil and tracing is disabled. The stop function flushes the remaining
// spans.
//
// Requests never wait for the collector: spans are queued, and dropped if the queue is full.
func startTracing(ctx context.Context, log *slog.Logger) (provider trace.TracerProvider, stop func() error, err error) {
	if !tracingWanted() {
		return nil, func() error { return nil }, nil
	}
	exporter, err := newExporter(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("sending traces by OTLP: %w", err)
	}
	version, _ := version.Current()
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithProcessPID(),
		resource.WithAttributes(semconv.ServiceName("bowline"), semconv.ServiceVersion(version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces are lost", "error", err) }))
	tracerProvider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	stop = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
		defer cancel()
		if err := tracerProvider.Shutdown(ctx); err != nil {
			log.Warn("the last traces are lost", "error", err)
		}
		return nil // an unreachable collector is not an error of the server
	}
	return tracerProvider, stop, nil
}

// tracingWanted reports whether the environment enables tracing, as defined by OpenTelemetry's specification.
func tracingWanted() bool {
	if os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// newExporter returns an exporter for the configured protocol, HTTP by default. The exporters read all other
// environment variables themselves.
func newExporter(ctx context.Context) (*otlptrace.Exporter, error) {
	name := "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	if os.Getenv(name) == "" {
		name = "OTEL_EXPORTER_OTLP_PROTOCOL"
	}
	switch protocol := os.Getenv(name); protocol {
	case "", "http/protobuf":
		return otlptracehttp.New(ctx)
	case "grpc":
		return otlptracegrpc.New(ctx)
	default:
		return nil, cli.Usagef("invalid %s %q: must be http/protobuf or grpc", name, protocol)
	}
}
