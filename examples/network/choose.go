package network

import (
	"fmt"

	"github.com/bowline-dev/bowline/examples/network/provider"
	"github.com/bowline-dev/bowline/examples/network/provider/bridge"
	"github.com/bowline-dev/bowline/examples/network/provider/record"
)

// The names of the providers, as Options.Provider takes them.
const (
	// ProviderAuto is bridge where it is permitted, else record.
	ProviderAuto = "auto"
	// ProviderBridge makes a network namespace with a Linux bridge for each network; it needs Linux and root.
	ProviderBridge = "bridge"
	// ProviderRecord keeps a JSON file for each network.
	ProviderRecord = "record"
)

// choose makes the provider of that name for a plane, and says why it is this one. folder is where records go.
func choose(name, plane, folder string) (chosen provider.Provider, why string, err error) {
	switch name {
	case ProviderAuto, "":
		return chooseForMachine(plane, folder, bridge.Probe())
	case ProviderBridge:
		if err := bridge.Probe(); err != nil {
			return nil, "", fmt.Errorf("network provider bridge is not permitted here (record is): %w", err)
		}
		chosen, err = bridge.New(plane)
	case ProviderRecord:
		chosen, err = record.New(plane, record.Dir(folder))
	default:
		return nil, "", fmt.Errorf("network provider %q is unknown: it is auto, bridge or record", name)
	}
	return chosen, "asked for", err
}

// chooseForMachine is the automatic choice, given what speaks against bridge.
func chooseForMachine(plane, folder string, forbids error) (provider.Provider, string, error) {
	if forbids != nil {
		chosen, err := record.New(plane, record.Dir(folder))
		return chosen, fmt.Sprintf("bridge is not permitted here: %v", forbids), err
	}
	chosen, err := bridge.New(plane)
	return chosen, "network namespaces and bridges are permitted here", err
}
