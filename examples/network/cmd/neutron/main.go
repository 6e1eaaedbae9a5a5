// Command neutron runs a real OpenStack Neutron on this machine, to try the Network controller with: without agents, so that its
// networks carry nothing, and with a stand-in for Keystone. It prints the variables that lead there, and runs until it is interrupted;
// nothing of it is left then. It needs Debian's package neutron-server.
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
