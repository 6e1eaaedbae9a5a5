package network

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/bridge"
	"github.com/bowline-dev/bowline/examples/network/provider/neutron"
	"github.com/bowline-dev/bowline/examples/network/provider/record"
)

// The values of Options.Provider.
const (
	// ProviderAuto selects neutron if the environment names an OpenStack, else bridge if the process is
	// permitted to create bridges, else record.
	ProviderAuto = "auto"
	// ProviderBridge creates a network namespace with a Linux bridge for each network. It needs Linux and
	// root.
	ProviderBridge = "bridge"
	// ProviderRecord writes a JSON file for each network.
	ProviderRecord = "record"
	// ProviderNeutron creates networks in the OpenStack that the environment names (OS_CLOUD, OS_AUTH_URL
	// ...).
	ProviderNeutron = "neutron"
)

// choice selects and creates a provider.
type choice struct {
	// name is one of the constants above. Empty means ProviderAuto.
	name string
	// plane owns the networks; folder is where the record provider writes its files.
	plane, folder string
	// openStack reports whether the environment names an OpenStack.
	openStack bool
	// bridgeError returns the reason why the bridge provider cannot work here, or nil.
	bridgeError func() error
	log         *slog.Logger
}

// Check returns the error with which Run would fail for Options.Provider, as far as it is known without a
// server. Callers check it before they start one.
func Check(name string) error {
	return choice{name: name, openStack: neutron.Configured(), bridgeError: bridge.Probe}.check()
}

func (c choice) check() error {
	automatic := c.name == ProviderAuto || c.name == ""
	if c.name == ProviderBridge {
		if err := c.bridgeError(); err != nil {
			return fmt.Errorf("network provider bridge is not permitted here (record is): %w", err)
		}
	}
	if c.name == ProviderNeutron || automatic && c.openStack {
		if err := neutron.CheckEnvironment(); err != nil {
			return fmt.Errorf("network provider neutron: %w", err)
		}
	}
	return nil
}

// provider creates the provider and returns the reason for the choice.
func (c choice) provider(ctx context.Context) (chosen provider.Provider, why string, err error) {
	if err := c.check(); err != nil {
		return nil, "", err
	}
	switch c.name {
	case ProviderAuto, "":
		return c.automatic(ctx)
	case ProviderBridge:
		chosen, err = bridge.New(c.plane)
	case ProviderRecord:
		chosen, err = record.New(c.plane, record.Dir(c.folder))
	case ProviderNeutron:
		chosen, err = c.neutron(ctx)
	default:
		return nil, "", fmt.Errorf("unknown network provider %q: must be auto, bridge, record or neutron", c.name)
	}
	return chosen, "requested", err
}

// automatic implements ProviderAuto.
func (c choice) automatic(ctx context.Context) (chosen provider.Provider, why string, err error) {
	if c.openStack {
		chosen, err = c.neutron(ctx)
		return chosen, "the environment names an OpenStack (OS_*)", err
	}
	if forbids := c.bridgeError(); forbids != nil {
		chosen, err = record.New(c.plane, record.Dir(c.folder))
		return chosen, fmt.Sprintf("bridge is not permitted here: %v", forbids), err
	}
	chosen, err = bridge.New(c.plane)
	return chosen, "network namespaces and bridges are permitted here", err
}

// neutron logs in to the OpenStack of the environment. If it does not answer, the returned provider logs in
// at its first use.
func (c choice) neutron(ctx context.Context) (provider.Provider, error) {
	if err := provider.CheckPlane(c.plane); err != nil {
		return nil, err
	}
	chosen, err := c.login(ctx)
	var problem *provider.Problem
	if errors.As(err, &problem) && problem.Reason == provider.Unreachable {
		c.log.Error("networks cannot be created yet, retrying", "error", err)
		return &lateProvider{name: ProviderNeutron, plane: c.plane, login: c.login}, nil
	}
	return chosen, err
}

func (c choice) login(ctx context.Context) (provider.Provider, error) {
	client, err := neutron.FromEnvironment(ctx)
	if err != nil {
		return nil, fmt.Errorf("network provider neutron: %w", err)
	}
	return neutron.New(c.plane, client, neutron.Options{Log: c.log})
}
