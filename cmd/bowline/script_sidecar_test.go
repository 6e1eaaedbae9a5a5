package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/bowline-dev/bowline/examples/sidecar"
)

// sidecarMain is the webhook of examples/sidecar, as a process of its own.
func sidecarMain() {
	fail(untilSignal(context.Background(), func(ctx context.Context) error {
		o := sidecar.Options{Config: restConfig(), Log: slog.New(slog.NewTextHandler(os.Stdout, nil))}
		return sidecar.ServeWebhook(ctx, o, "127.0.0.1:0")
	}))
}

// initializerMain is the initializer of examples/sidecar, as a process of its own.
func initializerMain() {
	fail(untilSignal(context.Background(), func(ctx context.Context) error {
		o := sidecar.Options{Config: restConfig(), Log: slog.New(slog.NewTextHandler(os.Stdout, nil))}
		return sidecar.Initialize(ctx, o)
	}))
}
