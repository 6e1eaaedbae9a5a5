package main

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
)

// flushLimit is how long the end of the process waits for the last spans to reach the collector.
const flushLimit = 5 * time.Second

// startTracing sends the spans of requests to the collector that OpenTelemetry's environment variables name. Without an
// endpoint the provider is nil, and nothing is traced. stop sends what is left.
//
// Requests never wait for the collector: spans gather in a queue, and when that is full they are dropped.
func startTracing(ctx context.Context, log *slog.Logger) (provider trace.TracerProvider, stop func() error, err error) {
	if !tracingWanted() {
		return nil, func() error { return nil }, nil
	}
	exporter, err := newExporter(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("sending traces by OTLP: %w", err)
	}
	version, _ := versions()
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithProcessPID(),
		resource.WithAttributes(semconv.ServiceName("bowline"), semconv.ServiceVersion(version)), resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces are lost", "error", err) }))
	made := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	stop = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), flushLimit)
		defer cancel()
		if err := made.Shutdown(ctx); err != nil {
			log.Warn("the last traces are lost", "error", err)
		}
		return nil // a collector that is away is no failure of the server
	}
	return made, stop, nil
}

// tracingWanted reads the variables that turn traces on and off, as OpenTelemetry's specification has them.
func tracingWanted() bool {
	if os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// newExporter speaks the protocol that is asked for, HTTP unless it is gRPC. The exporters read all other variables.
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
		return nil, usagef("%s is %q: it must be http/protobuf or grpc", name, protocol)
	}
}
