// Command neutron runs a real OpenStack Neutron on this machine, to try the Network controller with. It runs
// without agents, so its networks carry no traffic, and with a minimal Keystone in front of it. It prints the
// environment variables for the controller, runs until it is interrupted, and then removes all its files. It
// needs Debian's package neutron-server.
//
//	go run ./examples/network/cmd/neutron
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/bowline-dev/bowline/examples/network/provider/neutron/neutrontest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := neutrontest.Serve(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
