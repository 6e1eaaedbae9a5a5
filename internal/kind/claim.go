package kind

import (
	"net/netip"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Claim is a value, such as an address, that at most one object of a server may own. It is committed together
// with its owner, which makes the ownership exclusive.
type Claim struct {
	// Space is the namespace of unique values, such as "serviceips".
	Space string
	Value string
	// Resource is the resource of the objects, named after the value, that show the claim to clients. It is empty for
	// a claim that clients cannot see.
	Resource schema.GroupResource
}

// Values are the values that Kind.Assign chooses from.
type Values struct {
	// Taken reports whether an object owns a claim.
	Taken func(Claim) bool
	// Ranges returns the ranges of the addresses of services, in the order in which they are to be tried.
	Ranges func() []netip.Prefix
	// DryRun marks a write that is not committed, for which some errors have another text.
	DryRun bool
}

// IPAddresses is the resource of the objects that show the claims of addresses, and ServiceCIDRs that of the ranges
// of addresses.
var (
	IPAddresses  = schema.GroupResource{Group: networkingv1.GroupName, Resource: "ipaddresses"}
	ServiceCIDRs = schema.GroupResource{Group: networkingv1.GroupName, Resource: "servicecidrs"}
)

// DefaultServiceCIDR is the name of the object with the range that every server has from its start, which is
// DefaultServiceRange.
const DefaultServiceCIDR, DefaultServiceRange = "kubernetes", "10.0.0.0/24"

// AddressClaim returns the claim of an address of a service.
func AddressClaim(address netip.Addr) Claim {
	return Claim{Space: "serviceips", Value: address.String(), Resource: IPAddresses}
}
