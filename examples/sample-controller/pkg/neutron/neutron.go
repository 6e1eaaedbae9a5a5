// Package neutron fills a gap that the documents mark with FIX ME: the interface through which their program
// would call Neutron, and an implementation in memory that logs each call. Both controllers of the example
// use it. An implementation with a real Neutron, including errors, quotas and timeouts, is in
// examples/network/provider/neutron.
package neutron

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/klog/v2"
)

// Interface is the part of Neutron that the controllers use. Networks are identified by the namespace and
// name of their object.
type Interface interface {
	// Get returns the actual network, if it exists.
	Get(namespace, name string) (actual Network, exists bool)
	// Create creates a network. It fails if the network exists.
	Create(namespace, name string, network Network) error
	// Update changes a network. It fails if the network does not exist.
	Update(namespace, name string, network Network) error
	// Delete removes a network. It succeeds if there is none.
	Delete(namespace, name string) error
	// Names returns the names of all networks, sorted. A controller uses it at the start to find networks
	// whose object is gone.
	Names() []Name
}

// Name is the name of a network.
type Name struct {
	Namespace, Name string
}

func (n Name) compare(o Name) int {
	return cmp.Or(cmp.Compare(n.Namespace, o.Namespace), cmp.Compare(n.Name, o.Name))
}

// Network contains the properties of a network in Neutron.
type Network struct {
	Cidr, Gateway string
}

// Memory is a Neutron in memory. The zero value is empty and ready. It is safe for concurrent use.
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
		return fmt.Errorf("neutron: create network %s/%s: already exists", namespace, name)
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
		return fmt.Errorf("neutron: update network %s/%s: not found", namespace, name)
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
