// Package neutron stands where the documents say FIX ME: it is what their program would call Neutron through, and, since
// their program has no Neutron, one in memory that logs what it is asked to do. Both controllers of the example call it. A
// real one, with errors, quotas and time-outs, is in examples/network/provider/neutron.
package neutron

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/klog/v2"
)

// Interface is what controllers ask of Neutron, where networks are known by the namespace and name of their object.
type Interface interface {
	// Get is the network as it is, if it exists.
	Get(namespace, name string) (actual Network, exists bool)
	// Create makes a network that does not exist.
	Create(namespace, name string, network Network) error
	// Update changes a network that exists.
	Update(namespace, name string, network Network) error
	// Delete removes a network; one that does not exist is no error.
	Delete(namespace, name string) error
	// Names are the networks that exist, sorted: a controller that was away looks for those whose object has gone.
	Names() []Name
}

// Name is the name of a network.
type Name struct {
	Namespace, Name string
}

func (n Name) compare(o Name) int {
	return cmp.Or(cmp.Compare(n.Namespace, o.Namespace), cmp.Compare(n.Name, o.Name))
}

// Network is what Neutron knows of a network.
type Network struct {
	Cidr, Gateway string
}

// Memory is a Neutron that ends with the process. Its zero value has no networks. It may be used by many goroutines.
type Memory struct {
	mu       sync.Mutex
	networks map[Name]Network
}

// Get implements Interface.
func (m *Memory) Get(namespace, name string) (Network, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	actual, exists := m.networks[Name{namespace, name}]
	return actual, exists
}

// Create implements Interface.
func (m *Memory) Create(namespace, name string, network Network) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, exists := m.networks[Name{namespace, name}]; exists {
		return fmt.Errorf("neutron: create network %s/%s: it exists", namespace, name)
	}
	if m.networks == nil {
		m.networks = map[Name]Network{}
	}
	m.networks[Name{namespace, name}] = network
	klog.Infof("[Neutron] Created network %s/%s: cidr %s, gateway %s", namespace, name, network.Cidr, network.Gateway)
	return nil
}

// Update implements Interface.
func (m *Memory) Update(namespace, name string, network Network) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, exists := m.networks[Name{namespace, name}]; !exists {
		return fmt.Errorf("neutron: update network %s/%s: there is none", namespace, name)
	}
	m.networks[Name{namespace, name}] = network
	klog.Infof("[Neutron] Updated network %s/%s: cidr %s, gateway %s", namespace, name, network.Cidr, network.Gateway)
	return nil
}

// Delete implements Interface.
func (m *Memory) Delete(namespace, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, exists := m.networks[Name{namespace, name}]; !exists {
		return nil
	}
	delete(m.networks, Name{namespace, name})
	klog.Infof("[Neutron] Deleted network %s/%s", namespace, name)
	return nil
}

// Names implements Interface.
func (m *Memory) Names() []Name {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Keys(m.networks), Name.compare)
}
