package core

import (
	"encoding/binary"
	"net/netip"
)

// addressRange is the part of an IPv4 prefix from which addresses are assigned: all but the first and the last address.
// The static part at its start is assigned automatically only when the rest of all ranges is used up, so that addresses
// that users choose from it are likely to be free (KEP-3070).
type addressRange struct {
	// first is the number of the first address; count and static are the sizes of the range and of its static part.
	first         uint32
	count, static uint64
}

// The bounds of the static part, which is a sixteenth of the prefix.
const minStatic, maxStatic, staticShare = 16, 256, 16

// rangeOf returns the range of a prefix; its count is 0 if nothing can be assigned from it.
func rangeOf(p netip.Prefix) addressRange {
	if !p.IsValid() || !p.Addr().Is4() {
		return addressRange{}
	}
	size := uint64(1) << (32 - p.Bits())
	if size <= 2 {
		return addressRange{}
	}
	r := addressRange{first: number(p.Masked().Addr()) + 1, count: size - 2}
	if size > minStatic {
		r.static = min(max(size/staticShare, minStatic), maxStatic)
	}
	return r
}

// number returns an IPv4 address as a number.
func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// at returns the n-th address.
func (r addressRange) at(n uint64) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], r.first+uint32(n))
	return netip.AddrFrom4(b)
}

// has reports whether an address can be assigned.
func (r addressRange) has(a netip.Addr) bool {
	return a.Is4() && uint64(number(a)-r.first) < r.count // the difference of a lower address is large
}
