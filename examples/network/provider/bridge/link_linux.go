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

// linkName is what every network's bridge is called; each is alone in its namespace.
const linkName = "br0"

// openNetlink opens a netlink handle that acts in a namespace, whatever thread uses it.
func openNetlink(ns namespace) (*netlink.Handle, error) {
	return netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
}

// findBridge is the namespace's bridge, or nil; what else has its name is other.
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

// inspect says what is in a namespace, compared with nothing but what every whole network has.
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

// addresses are those that somebody gave the bridge; the kernel's own link-local ones do not count.
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

// configure makes a namespace hold the wanted network. It may be interrupted anywhere and run again.
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
			return nil, fmt.Errorf("remove %s, which is no bridge: %w", linkName, err)
		}
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = linkName
	if err := h.LinkAdd(&netlink.Bridge{LinkAttrs: attrs}); err != nil {
		return nil, fmt.Errorf("add bridge %s: %w", linkName, err)
	}
	br, _, err = findBridge(h)
	if err == nil && br == nil {
		err = fmt.Errorf("bridge %s went as soon as it was added", linkName)
	}
	return br, err
}

// ensureAddress leaves the bridge with one address. The others go first: the kernel takes an address's secondaries with
// it, so a new one added before the old is removed might go with the old.
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
	// One that is there may have been a secondary of one that was removed.
	if have && len(found) == 1 {
		return nil
	}
	addr := &netlink.Addr{
		IPNet: &net.IPNet{IP: want.Addr().AsSlice(), Mask: net.CIDRMask(want.Bits(), want.Addr().BitLen())},
		Flags: unix.IFA_F_NODAD, // nobody else is in the namespace to have the address
	}
	if err := h.AddrReplace(br, addr); err != nil {
		return fmt.Errorf("give %s the address %s: %w", linkName, want, err)
	}
	return nil
}

// removeBridge takes the bridge out of a namespace, if it is there.
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
