package neutrontest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
)

// address parses a field as an address; ok is false if it is not an address.
func address(value any) (a netip.Addr, ok bool) {
	text, _ := value.(string)
	a, err := netip.ParseAddr(text)
	return a, err == nil
}

// checkGateway refuses the first and last address of an IPv4 range.
func checkGateway(value any, cidr netip.Prefix) error {
	gateway, ok := address(value)
	if ok && gateway.Is4() && cidr.Contains(gateway) && (gateway == cidr.Addr() || gateway == last(cidr)) {
		return invalidInput("Gateway is not valid on subnet.")
	}
	return nil
}

// last returns the last address of a range.
func last(cidr netip.Prefix) netip.Addr {
	bytes := cidr.Addr().AsSlice()
	for bit := cidr.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	a, _ := netip.AddrFromSlice(bytes) // the length is that of an address
	return a
}

// poolsIn decodes the pools of a request, which must lie within a range and not overlap.
func poolsIn(given any, cidr netip.Prefix) ([]pool, error) {
	text, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	pools := []pool{}
	if err := json.Unmarshal(text, &pools); err != nil {
		return nil, badRequest("Invalid input for allocation_pools. Reason: %s", text)
	}
	for i, p := range pools {
		start, end, err := p.bounds()
		if err != nil {
			return nil, err
		}
		if !cidr.Contains(start) || !cidr.Contains(end) {
			return nil, refuse(http.StatusBadRequest, "OutOfBoundsAllocationPool",
				"The allocation pool %s spans beyond the subnet cidr %s.", p, cidr)
		}
		for _, other := range pools[:i] {
			if from, to, err := other.bounds(); err == nil && start.Compare(to) <= 0 && from.Compare(end) <= 0 {
				return nil, refuse(http.StatusConflict, "OverlappingAllocationPools",
					"Found overlapping allocation pools: %s %s for subnet %s.", other, p, cidr)
			}
		}
	}
	return pools, nil
}

func (p pool) String() string { return p.Start + "-" + p.End }

func (p pool) bounds() (start, end netip.Addr, err error) {
	start, isStart := address(p.Start)
	end, isEnd := address(p.End)
	if !isStart || !isEnd || end.Less(start) {
		err = refuse(http.StatusBadRequest, "InvalidAllocationPool",
			"The allocation pool {'start': '%s', 'end': '%s'} is not valid.", p.Start, p.End)
	}
	return start, end, err
}

// conflict refuses a gateway that lies in a pool, from which ports get their addresses.
func conflict(gateway netip.Addr, has bool, pools []pool) error {
	for _, p := range pools {
		if start, end, err := p.bounds(); has && err == nil && start.Compare(gateway) <= 0 &&
			gateway.Compare(end) <= 0 {
			return refuse(http.StatusConflict, "GatewayConflictWithAllocationPools",
				"Gateway ip %s conflicts with allocation pool %s.", gateway, p)
		}
	}
	return nil
}

// poolsAround returns the default pools of a subnet: all addresses of a range except the gateway, the first
// one and, in IPv4, the last one. A range of one or two addresses has no reserved ones.
func poolsAround(cidr netip.Prefix, gateway netip.Addr) []pool {
	start, end := cidr.Addr(), last(cidr)
	if cidr.Bits() < cidr.Addr().BitLen()-1 {
		start = start.Next()
		if end.Is4() {
			end = end.Prev()
		}
	}
	pools := []pool{}
	add := func(from, to netip.Addr) {
		if from.Compare(to) <= 0 {
			pools = append(pools, pool{fmt.Sprint(from), fmt.Sprint(to)})
		}
	}
	if !gateway.IsValid() || gateway.Less(start) || end.Less(gateway) {
		add(start, end)
		return pools
	}
	if start.Less(gateway) {
		add(start, gateway.Prev())
	}
	if gateway.Less(end) {
		add(gateway.Next(), end)
	}
	return pools
}
