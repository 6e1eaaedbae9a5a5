package bowline

import (
	"net/netip"
	"testing"
)

func TestWhatOthersCallASocket(t *testing.T) {
	t.Parallel()
	own := func() netip.Addr { return netip.MustParseAddr("10.1.0.1") }
	none := func() netip.Addr { return netip.Addr{} }
	for name, c := range map[string]struct {
		socket string
		own    func() netip.Addr
		want   string
	}{
		"an address":                     {"10.2.0.1", own, "10.2.0.1"},
		"an address of IPv6":             {"2001:db8::1", own, "2001:db8::1"},
		"an address of IPv4 in IPv6":     {"::ffff:10.2.0.1", own, "10.2.0.1"},
		"the loopback":                   {"127.0.0.1", own, "invalid IP"},
		"the loopback of IPv6":           {"::1", own, "invalid IP"},
		"a link":                         {"fe80::1%eth0", own, "invalid IP"},
		"all addresses":                  {"0.0.0.0", own, "10.1.0.1"},
		"all addresses of both":          {"::", own, "10.1.0.1"},
		"all of a machine on no network": {"::", none, "invalid IP"},
	} {
		if got := publicAddress(netip.MustParseAddr(c.socket), c.own).String(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
