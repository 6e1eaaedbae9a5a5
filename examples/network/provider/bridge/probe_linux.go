package bridge

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// Probe returns the reason why the provider cannot work here, or nil. It builds a network in an unnamed
// namespace, which is gone when it returns.
func Probe() error {
	ns, err := newNamespace()
	if err != nil {
		return fmt.Errorf("network namespaces cannot be created (root is required): %w", err)
	}
	trial := provider.Network{CIDR: netip.MustParsePrefix("192.0.2.0/24"), Gateway: netip.MustParseAddr("192.0.2.1")}
	if err := errors.Join(configure(ns, trial, "bowline probe"), ns.Close()); err != nil {
		return fmt.Errorf("a bridge cannot be created: %w", err)
	}
	unlock, err := lockFolder()
	if err != nil {
		return fmt.Errorf("network namespaces cannot be named: %w", err)
	}
	unlock()
	return nil
}
