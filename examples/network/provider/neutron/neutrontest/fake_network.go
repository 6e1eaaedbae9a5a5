package neutrontest

import (
	"net/http"
	"slices"
	"strings"
)

var networkKind = &kind{
	name: "network", collection: "networks", title: "Network",
	defaults: object{
		"name": "", "description": "", "admin_state_up": true, "shared": false, "router:external": false,
		"status":                "ACTIVE",
		"mtu":                   1450,
		"port_security_enabled": true, "availability_zone_hints": []string{}, "availability_zones": []string{},
		"subnets":            []string{},
		"ipv4_address_scope": nil, "ipv6_address_scope": nil, "tags": []string{}, "project_id": "", "tenant_id": "",
		"created_at": "", "updated_at": "", "revision_number": 1,
	},
	given:    []string{"name", "description", "admin_state_up", "mtu", "port_security_enabled"},
	settable: []string{"name", "description", "admin_state_up", "mtu", "port_security_enabled"},
}

func init() {
	networkKind.make = func(f *Fake, c *call, o object) error { return f.room(c.project, networkKind) }
	networkKind.change = func(*Fake, object, object) error { return nil }
	networkKind.remove = (*Fake).removeNetwork
}

// removeNetwork removes a network with its subnets and DHCP ports, unless it has other ports.
func (f *Fake) removeNetwork(o object) error {
	var ports, own []string
	for id, port := range f.objects["ports"] {
		switch {
		case port["network_id"] != o["id"]:
		case port["device_owner"] == "network:dhcp":
			own = append(own, id)
		default:
			ports = append(ports, id)
		}
	}
	if len(ports) > 0 {
		slices.Sort(ports)
		return refuse(http.StatusConflict, "NetworkInUse",
			"Unable to complete operation on network %s. There are one or more "+
				"ports still in use on the network, id for these ports is: %s.", o["id"], strings.Join(ports, ","))
	}
	for _, id := range f.subnetsOf(o.text("id")) {
		delete(f.objects["subnets"], id)
	}
	for _, id := range own {
		delete(f.objects["ports"], id)
	}
	delete(f.objects["networks"], o.text("id"))
	return nil
}

// subnetsOf returns the IDs of a network's subnets.
func (f *Fake) subnetsOf(network string) []string {
	ids := []string{}
	for id, subnet := range f.objects["subnets"] {
		if subnet["network_id"] == network {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
