package neutron_test

import (
	"slices"
	"testing"

	"github.com/bowline-dev/bowline/examples/sample-controller/pkg/neutron"
)

func TestNetworksAreCreatedOnceAndUpdatedWhenTheyExist(t *testing.T) {
	t.Parallel()
	var m neutron.Memory
	first := neutron.Network{Cidr: "10.0.0.0/8", Gateway: "10.0.0.1"}
	second := neutron.Network{Cidr: "192.168.0.0/16", Gateway: "192.168.0.1"}
	if err := m.Update("default", "a", first); err == nil {
		t.Error("Update succeeded for a network that does not exist")
	}
	if err := m.Create("default", "a", first); err != nil {
		t.Error(err)
	}
	if err := m.Create("default", "a", second); err == nil {
		t.Error("Create succeeded for a network that exists")
	}
	if got, exists := m.Get("default", "a"); !exists || got != first {
		t.Errorf("Get returned %v, %t", got, exists)
	}
	if err := m.Update("default", "a", second); err != nil {
		t.Error(err)
	}
	if got, exists := m.Get("default", "a"); !exists || got != second {
		t.Errorf("Get returned %v, %t", got, exists)
	}
	if got := m.Names(); !slices.Equal(got, []neutron.Name{{Namespace: "default", Name: "a"}}) {
		t.Errorf("Names returned %v", got)
	}
	for range 2 {
		if err := m.Delete("default", "a"); err != nil {
			t.Error(err)
		}
	}
	if got, exists := m.Get("default", "a"); exists || len(m.Names()) > 0 {
		t.Errorf("Get still returns %v after Delete", got)
	}
}
