package neutrontest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
)

var portKind = &kind{
	name: "port", collection: "ports", title: "Port",
	defaults: object{
		"name": "", "description": "", "admin_state_up": true, "status": "DOWN", "device_id": "", "device_owner": "",
		"mac_address": "", "security_groups": []string{}, "port_security_enabled": true, "binding:vnic_type": "normal",
		"allowed_address_pairs": []string{},
		"extra_dhcp_opts":       []string{}, "tags": []string{}, "project_id": "", "tenant_id": "", "created_at": "",
		"updated_at":      "",
		"revision_number": 1,
	},
	given:    []string{"name", "description", "network_id", "admin_state_up", "device_id", "device_owner", "fixed_ips"},
	settable: []string{"name", "description", "admin_state_up", "device_id", "device_owner"},
}

func init() {
	portKind.make = (*Fake).makePort
	portKind.change = func(*Fake, object, object) error { return nil }
	portKind.remove = func(f *Fake, o object) error {
		delete(f.objects["ports"], o.text("id"))
		return nil
	}
}

// fixedIP is an address of a port.
type fixedIP struct {
	Subnet  string `json:"subnet_id"`
	Address string `json:"ip_address"`
}

func (f *Fake) makePort(c *call, o object) error {
	network := f.objects["networks"][o.text("network_id")]
	if network == nil || !c.sees(network) {
		return networkKind.notFound(o.text("network_id"))
	}
	ips, err := f.addresses(o)
	if err == nil {
		err = f.room(o.text("project_id"), portKind)
	}
	if err != nil {
		return err
	}
	o["fixed_ips"] = ips
	o["mac_address"] = fmt.Sprintf("fa:16:3e:%02x:%02x:%02x", rand.N(256), rand.N(256), rand.N(256))
	o["security_groups"] = []string{f.groupOf(o.text("project_id"))}
	return nil
}

// addresses returns the addresses of a new port: the requested ones, or one of the first subnet.
func (f *Fake) addresses(o object) ([]fixedIP, error) {
	ips := []fixedIP{}
	subnets := f.subnetsOf(o.text("network_id"))
	if given, ok := o["fixed_ips"]; ok {
		text, err := json.Marshal(given)
		if err != nil || json.Unmarshal(text, &ips) != nil {
			return nil, badRequest("Invalid input for fixed_ips. Reason: %s", text)
		}
	} else if len(subnets) > 0 {
		ips = append(ips, fixedIP{Subnet: subnets[0]})
	}
	for i := range ips {
		if err := f.assign(&ips[i], subnets); err != nil {
			return nil, err
		}
	}
	return ips, nil
}

// assign completes an address with its subnet, or a subnet with a free address.
func (f *Fake) assign(ip *fixedIP, subnets []string) error {
	wanted, fixed := address(ip.Address)
	for _, id := range subnets {
		subnet := f.objects["subnets"][id]
		cidr := netip.MustParsePrefix(subnet.text("cidr"))
		switch {
		case ip.Subnet != "" && ip.Subnet != id, ip.Subnet == "" && fixed && !cidr.Contains(wanted):
			continue
		case fixed && !cidr.Contains(wanted):
			return refuse(http.StatusBadRequest, "InvalidIpForSubnet",
				"IP address %s is not a valid IP for the specified subnet.", wanted)
		case fixed && f.taken(id, ip.Address):
			return refuse(http.StatusConflict, "IpAddressAlreadyAllocated",
				"IP address %s already allocated in subnet %s", wanted, id)
		case !fixed:
			free, err := f.free(id)
			if err != nil {
				return err
			}
			ip.Address = free
		}
		ip.Subnet = id
		return nil
	}
	return subnetKind.notFound(ip.Subnet)
}

// free returns an unused address of a subnet.
func (f *Fake) free(subnet string) (string, error) {
	for _, p := range f.objects["subnets"][subnet]["allocation_pools"].([]pool) {
		start, end, err := p.bounds()
		for a := start; err == nil && a.Compare(end) <= 0; a = a.Next() {
			if !f.taken(subnet, a.String()) {
				return a.String(), nil
			}
		}
	}
	return "", refuse(http.StatusConflict, "IpAddressGenerationFailure",
		"No more IP addresses available for subnet %s.", subnet)
}

func (f *Fake) taken(subnet, address string) bool {
	for _, port := range f.objects["ports"] {
		if slices.Contains(port["fixed_ips"].([]fixedIP), fixedIP{subnet, address}) {
			return true
		}
	}
	return false
}

// groupOf returns the ID of a project's default security group, which has no other function.
func (f *Fake) groupOf(project string) string {
	if f.groups[project] == "" {
		f.groups[project] = newUUID()
	}
	return f.groups[project]
}
