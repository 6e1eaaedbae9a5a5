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

// The names of the providers, as Options.Provider takes them.
const (
	// ProviderAuto is neutron where the environment names an OpenStack, else bridge where it is permitted, else record.
	ProviderAuto = "auto"
	// ProviderBridge makes a network namespace with a Linux bridge for each network; it needs Linux and root.
	ProviderBridge = "bridge"
	// ProviderRecord keeps a JSON file for each network.
	ProviderRecord = "record"
	// ProviderNeutron makes networks of the OpenStack that the environment names (OS_CLOUD, OS_AUTH_URL ...).
	ProviderNeutron = "neutron"
)

// choice is which provider to make, and of what.
type choice struct {
	// name is one of the names above, or empty for ProviderAuto.
	name string
	// plane is whose networks they are; folder is where records go.
	plane, folder string
	// openStack is whether the environment names one.
	openStack bool
	// forbids says what speaks against bridge here, nil for nothing.
	forbids func() error
	log     *slog.Logger
}

// Check says what speaks against Options.Provider that is known before there is a server: Run would end with it.
func Check(name string) error {
	return choice{name: name, openStack: neutron.Configured(), forbids: bridge.Probe}.check()
}

func (c choice) check() error {
	automatic := c.name == ProviderAuto || c.name == ""
	if c.name == ProviderBridge {
		if err := c.forbids(); err != nil {
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

// provider makes the provider, and says why it is this one.
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
		return nil, "", fmt.Errorf("network provider %q is unknown: it is auto, bridge, record or neutron", c.name)
	}
	return chosen, "asked for", err
}

// automatic is the choice of ProviderAuto.
func (c choice) automatic(ctx context.Context) (chosen provider.Provider, why string, err error) {
	if c.openStack {
		chosen, err = c.neutron(ctx)
		return chosen, "the environment names an OpenStack (OS_*)", err
	}
	if forbids := c.forbids(); forbids != nil {
		chosen, err = record.New(c.plane, record.Dir(c.folder))
		return chosen, fmt.Sprintf("bridge is not permitted here: %v", forbids), err
	}
	chosen, err = bridge.New(c.plane)
	return chosen, "network namespaces and bridges are permitted here", err
}

// neutron logs in to the environment's OpenStack. One that does not answer is asked again when there is work for it.
func (c choice) neutron(ctx context.Context) (provider.Provider, error) {
	if err := provider.CheckPlane(c.plane); err != nil {
		return nil, err
	}
	chosen, err := c.login(ctx)
	var problem *provider.Problem
	if errors.As(err, &problem) && problem.Reason == provider.Unreachable {
		c.log.Error("networks cannot be made yet: trying again", "error", err)
		return &late{name: ProviderNeutron, plane: c.plane, login: c.login}, nil
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
