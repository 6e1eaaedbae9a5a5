package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"syscall"

	"github.com/bowline-dev/bowline"
)

// knownControllers are the names that the library's --controllers may mention.
func knownControllers() []string { return bowline.Controllers() }

// startPlane starts the library as a process needs it: on a socket, over TLS.
func startPlane(ctx context.Context, listen string, config *tls.Config, controllers []string, log *slog.Logger) (*bowline.Plane, error) {
	plane, err := bowline.Start(ctx, bowline.Options{Listen: listen, TLS: config, Controllers: controllers, Log: log})
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use by another program: stop that one, or choose another address with --listen "+
			"(port 0 takes any free one)", listen)
	}
	return plane, err
}
