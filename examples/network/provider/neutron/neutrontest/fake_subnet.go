package neutrontest

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
)

var subnetKind = &kind{
	name: "subnet", collection: "subnets", title: "Subnet",
	defaults: object{
		"name": "", "description": "", "enable_dhcp": true, "dns_nameservers": []string{}, "host_routes": []string{},
		"service_types": []string{}, "ipv6_ra_mode": nil, "ipv6_address_mode": nil, "subnetpool_id": nil,
		"tags": []string{}, "project_id": "", "tenant_id": "",
		"created_at": "", "updated_at": "", "revision_number": 0,
	},
	given: []string{"name", "description", "network_id", "ip_version", "cidr", "gateway_ip", "allocation_pools",
		"enable_dhcp"},
	settable: []string{"name", "description", "gateway_ip", "allocation_pools", "enable_dhcp"},
}

func init() {
	subnetKind.make = (*Fake).makeSubnet
	subnetKind.change = (*Fake).changeSubnet
	subnetKind.remove = (*Fake).removeSubnet
}

// pool is a range of addresses that Neutron assigns to ports.
type pool struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

func (f *Fake) makeSubnet(c *call, o object) error {
	network := f.objects["networks"][o.text("network_id")]
	if network == nil || !c.sees(network) {
		return networkKind.notFound(o.text("network_id"))
	}
	cidr, err := f.rangeOf(o)
	if err != nil {
		return err
	}
	if _, given := o["gateway_ip"]; !given {
		o["gateway_ip"] = cidr.Addr().Next().String()
	}
	gateway, hasGateway := address(o["gateway_ip"])
	if err := checkGateway(o["gateway_ip"], cidr); err != nil {
		return err
	}
	pools, err := poolsIn(o["allocation_pools"], cidr)
	if err == nil {
		err = conflict(gateway, hasGateway, pools)
	}
	if err == nil {
		err = f.room(o.text("project_id"), subnetKind)
	}
	if err != nil {
		return err
	}
	if len(pools) == 0 {
		pools = poolsAround(cidr, gateway)
	}
	o["allocation_pools"] = pools
	touch(network)
	return nil
}

// rangeOf validates the address range of a new subnet, stores it in the object, and returns it.
func (f *Fake) rangeOf(o object) (netip.Prefix, error) {
	none := netip.Prefix{}
	text, given := o["cidr"]
	if !given {
		return none, refuse(http.StatusBadRequest, "BadRequest",
			"Bad subnets request: a subnetpool must be specified in the absence of a cidr.")
	}
	cidr, err := netip.ParsePrefix(fmt.Sprint(text))
	if err != nil {
		return none, invalidInput("%v is not in a CIDR format.", text)
	}
	cidr = cidr.Masked()
	if cidr.Addr().Is4() != (o["ip_version"] == 4) {
		return none, invalidInput("cidr '%v' does not match the ip_version '%v'.", text, o["ip_version"])
	}
	if gateway, ok := address(o["gateway_ip"]); ok && gateway.Is4() != cidr.Addr().Is4() {
		return none, invalidInput("gateway_ip '%s' does not match the ip_version '%v'.", gateway, o["ip_version"])
	}
	if o["enable_dhcp"] == true {
		if cidr.Bits() >= cidr.Addr().BitLen()-1 {
			return none, invalidInput("Subnet has a prefix length that is incompatible with DHCP service enabled.")
		}
		if cidr.Addr().IsUnspecified() {
			return none, invalidInput("First IP '%s' of network is not supported if enable_dhcp is True..", cidr.Addr())
		}
	}
	for _, id := range f.subnetsOf(o.text("network_id")) {
		if netip.MustParsePrefix(f.objects["subnets"][id].text("cidr")).Overlaps(cidr) {
			return none, invalidInput("Requested subnet with cidr: %s for network: %s overlaps with another subnet.",
				cidr, o["network_id"])
		}
	}
	o["cidr"] = cidr.String()
	return cidr, nil
}

// changeSubnet validates an update and increments the revision of the network.
func (f *Fake) changeSubnet(o, update object) error {
	cidr := netip.MustParsePrefix(o.text("cidr"))
	pools := o["allocation_pools"].([]pool)
	if given, ok := update["allocation_pools"]; ok {
		var err error
		if pools, err = poolsIn(given, cidr); err != nil {
			return err
		}
		update["allocation_pools"] = pools
	}
	if given, ok := update["gateway_ip"]; ok {
		if err := checkGateway(given, cidr); err != nil {
			return err
		}
		gateway, has := address(given)
		if err := conflict(gateway, has, pools); err != nil {
			return err
		}
	}
	touch(f.objects["networks"][o.text("network_id")])
	return nil
}

func (f *Fake) removeSubnet(o object) error {
	for _, port := range f.objects["ports"] {
		if slices.ContainsFunc(port["fixed_ips"].([]fixedIP), func(ip fixedIP) bool { return ip.Subnet == o["id"] }) {
			return refuse(http.StatusConflict, "SubnetInUse",
				"Unable to complete operation on subnet %s: One or more ports have an IP allocation from this subnet.",
				o["id"])
		}
	}
	delete(f.objects["subnets"], o.text("id"))
	touch(f.objects["networks"][o.text("network_id")])
	return nil
}
