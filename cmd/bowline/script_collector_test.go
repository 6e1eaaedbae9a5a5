package main

import (
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
)

// collectorMain is a collector of traces by OTLP over HTTP or gRPC. It prints its address and, for each
// request, the service, the request's span, and the spans below it in order of their start.
//
//	collector [-grpc]
func collectorMain() {
	byGRPC := flag.Bool("grpc", false, "")
	flag.Parse()
	fail(cli.UntilSignal(context.Background(), func(ctx context.Context) error {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Printf("collecting on http://%s\n", listener.Addr())
		var c collecting
		if *byGRPC {
			server := grpc.NewServer()
			collector.RegisterTraceServiceServer(server, &c)
			context.AfterFunc(ctx, server.Stop)
			return server.Serve(listener)
		}
		server := &http.Server{Handler: http.HandlerFunc(c.serve)}
		context.AfterFunc(ctx, func() { server.Close() })
		if err := server.Serve(listener); err != http.ErrServerClosed {
			return err
		}
		return nil
	}))
}

// collecting prints the received traces.
type collecting struct {
	collector.UnimplementedTraceServiceServer
	mu sync.Mutex
}

func (c *collecting) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	fail(err)
	var sent collector.ExportTraceServiceRequest
	fail(proto.Unmarshal(body, &sent))
	_, err = c.Export(r.Context(), &sent)
	fail(err)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Export implements collector.TraceServiceServer.
func (c *collecting) Export(_ context.Context,
	sent *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range sent.ResourceSpans {
		service := ""
		for _, about := range resource.Resource.Attributes {
			if about.Key == "service.name" {
				service = about.Value.GetStringValue()
			}
		}
		var spans []*tracepb.Span
		for _, scope := range resource.ScopeSpans {
			spans = append(spans, scope.Spans...)
		}
		printTraces(service, spans)
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func printTraces(service string, spans []*tracepb.Span) {
	below := map[string][]*tracepb.Span{}
	for _, s := range spans {
		parent := hex.EncodeToString(s.ParentSpanId)
		below[parent] = append(below[parent], s)
	}
	for _, s := range spans {
		if s.Kind != tracepb.Span_SPAN_KIND_SERVER {
			continue
		}
		stages := below[hex.EncodeToString(s.SpanId)]
		slices.SortStableFunc(stages, func(a, b *tracepb.Span) int {
			return int(a.StartTimeUnixNano) - int(b.StartTimeUnixNano)
		})
		var names []string
		for _, stage := range stages {
			names = append(names, stage.Name)
		}
		fmt.Fprintf(os.Stdout, "%s: %s: %s\n", service, s.Name, strings.Join(names, " "))
	}
}
