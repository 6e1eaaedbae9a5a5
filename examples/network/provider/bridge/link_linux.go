package bridge

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// linkName is the name of every network's bridge; each is in a namespace of its own.
const linkName = "br0"

// openNetlink opens a netlink handle for a namespace, which any thread may use.
func openNetlink(ns namespace) (*netlink.Handle, error) {
	return netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
}

// findBridge returns the namespace's bridge, or nil if there is none. If another kind of link has its name,
// it returns that as other.
func findBridge(h *netlink.Handle) (br *netlink.Bridge, other netlink.Link, err error) {
	link, err := h.LinkByName(linkName)
	var missing netlink.LinkNotFoundError
	if errors.As(err, &missing) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if br, ok := link.(*netlink.Bridge); ok {
		return br, nil, nil
	}
	return nil, link, nil
}

// inspect describes the network in a namespace, with a fault if it is not complete.
func inspect(ns namespace, mark string) (provider.Actual, error) {
	h, err := openNetlink(ns)
	if err != nil {
		return provider.Actual{}, err
	}
	defer h.Close()
	br, other, err := findBridge(h)
	switch {
	case err != nil:
		return provider.Actual{}, err
	case other != nil:
		return provider.Actual{Fault: linkName + " is no bridge"}, nil
	case br == nil:
		return provider.Actual{Fault: "its bridge is gone"}, nil
	}
	found, err := addresses(h, br)
	if err != nil {
		return provider.Actual{}, err
	}
	actual := provider.Actual{Fault: fault(br, found, mark)}
	if len(found) == 1 {
		at := prefixOf(found[0])
		actual.CIDR, actual.Gateway = at.Masked(), at.Addr()
	}
	return actual, nil
}

func fault(br *netlink.Bridge, found []netlink.Addr, mark string) string {
	switch {
	case br.Flags&net.FlagUp == 0:
		return "its bridge is down"
	case br.Alias != mark:
		return "its bridge does not say whose it is"
	case len(found) == 0:
		return "its bridge has no address"
	case len(found) > 1:
		return fmt.Sprintf("its bridge has %d addresses", len(found))
	}
	return ""
}

// addresses returns the addresses of the bridge without the link-local ones that the kernel assigns.
func addresses(h *netlink.Handle, br netlink.Link) ([]netlink.Addr, error) {
	all, err := h.AddrList(br, netlink.FAMILY_ALL)
	if err != nil {
		return nil, err
	}
	var given []netlink.Addr
	for _, a := range all {
		if !(a.IP.To4() == nil && a.IP.IsLinkLocalUnicast()) {
			given = append(given, a)
		}
	}
	return given, nil
}

func prefixOf(a netlink.Addr) netip.Prefix {
	ip, _ := netip.AddrFromSlice(a.IP)
	ones, _ := a.Mask.Size()
	return netip.PrefixFrom(ip.Unmap(), ones)
}

// configure makes a namespace contain the wanted network. It may be interrupted at any point and repeated.
func configure(ns namespace, want provider.Network, mark string) error {
	h, err := openNetlink(ns)
	if err != nil {
		return err
	}
	defer h.Close()
	br, err := ensureBridge(h)
	if err != nil {
		return err
	}
	if br.Alias != mark {
		if err := h.LinkSetAlias(br, mark); err != nil {
			return fmt.Errorf("mark %s: %w", linkName, err)
		}
	}
	if err := ensureAddress(h, br, netip.PrefixFrom(want.Gateway, want.CIDR.Bits())); err != nil {
		return err
	}
	if err := h.LinkSetUp(br); err != nil {
		return fmt.Errorf("set %s up: %w", linkName, err)
	}
	return nil
}

func ensureBridge(h *netlink.Handle) (*netlink.Bridge, error) {
	br, other, err := findBridge(h)
	if err != nil || br != nil {
		return br, err
	}
	if other != nil {
		if err := h.LinkDel(other); err != nil {
			return nil, fmt.Errorf("remove %s, which is not a bridge: %w", linkName, err)
		}
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = linkName
	if err := h.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
		return nil, fmt.Errorf("add bridge %s: %w", linkName, err)
	}
	br, _, err = findBridge(h)
	if err == nil && br == nil {
		err = fmt.Errorf("bridge %s disappeared after it was added", linkName)
	}
	return br, err
}

// ensureAddress leaves the bridge with only the wanted address. It removes others first: removing an address
// also removes its secondaries, and a new address might be one of them.
func ensureAddress(h *netlink.Handle, br netlink.Link, want netip.Prefix) error {
	found, err := addresses(h, br)
	if err != nil {
		return err
	}
	have := false
	for _, a := range found {
		if prefixOf(a) == want {
			have = true
			continue
		}
		if err := h.AddrDel(br, &a); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("remove address %s from %s: %w", a.IPNet, linkName, err)
		}
	}
	// If other addresses were removed, the wanted one may have been a secondary and be gone too.
	if have && len(found) == 1 {
		return nil
	}
	addr := &netlink.Addr{
		IPNet: &net.IPNet{IP: want.Addr().AsSlice(), Mask: net.CIDRMask(want.Bits(), want.Addr().BitLen())},
		Flags: unix.IFA_F_NODAD, // no duplicate address detection: the namespace has no other host
	}
	if err := h.AddrReplace(br, addr); err != nil {
		return fmt.Errorf("add address %[2]s to %[1]s: %[3]w", linkName, want, err)
	}
	return nil
}

// removeBridge removes the bridge of a namespace, if there is one.
func removeBridge(ns namespace) error {
	h, err := openNetlink(ns)
	if err != nil {
		return err
	}
	defer h.Close()
	br, _, err := findBridge(h)
	if err != nil || br == nil {
		return err
	}
	return h.LinkDel(br)
}
