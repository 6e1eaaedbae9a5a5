package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/bowline-dev/bowline/cmd/bowline/internal/cli"
	"github.com/bowline-dev/bowline/examples/sidecar"
)

// sidecarMain runs the webhook of examples/sidecar as a separate process.
func sidecarMain() {
	fail(cli.UntilSignal(context.Background(), func(ctx context.Context) error {
		o := sidecar.Options{Config: restConfig(), Log: slog.New(slog.NewTextHandler(os.Stdout, nil))}
		return sidecar.ServeWebhook(ctx, o, "127.0.0.1:0")
	}))
}

// initializerMain runs the initializer of examples/sidecar as a separate process.
func initializerMain() {
	fail(cli.UntilSignal(context.Background(), func(ctx context.Context) error {
		o := sidecar.Options{Config: restConfig(), Log: slog.New(slog.NewTextHandler(os.Stdout, nil))}
		return sidecar.Initialize(ctx, o)
	}))
}
