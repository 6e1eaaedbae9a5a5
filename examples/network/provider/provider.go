// Package provider defines the interface between the Network controller, which compares and decides, and the
// systems that implement networks. The implementations are package bridge (network namespaces and Linux
// bridges), package record (a JSON file per network) and package neutron (OpenStack); package providertest is
// the contract test that all of them pass. It does not depend on the Kubernetes API.
package provider

import (
	"context"
	"errors"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
)

// Network is a desired network.
type Network struct {
	// UID is the UID of the object that declares the network. It is the network's identity: each UID has at
	// most one real network.
	UID types.UID
	// Owner is the object's name for people, as in default/example-network. It is never used to find a
	// network.
	Owner string
	// CIDR is the address range, masked.
	CIDR netip.Prefix
	// Gateway is the gateway's address, within CIDR.
	Gateway netip.Addr
	// Found is Actual.Found of a call of Get right before Apply, or nil. Apply may use it instead of reading
	// again.
	Found any
}

// Actual is an observed network.
type Actual struct {
	// ID is the name of the real network.
	ID string
	// CIDR and Gateway are as observed; zero if there are none.
	CIDR    netip.Prefix
	Gateway netip.Addr
	// Fault describes any other defect ("the bridge is down"); empty means none. A network that is incomplete
	// or damaged has a fault.
	Fault string
	// Found is passed on as Network.Found. Only the provider interprets it.
	Found any
}

// Matches reports whether the observed network equals the desired one.
func (a Actual) Matches(want Network) bool {
	return a.Fault == "" && a.CIDR == want.CIDR && a.Gateway == want.Gateway
}

// ErrNotFound is the error of Get if a UID has no real network.
var ErrNotFound = errors.New("network not found")

// Provider creates, changes and removes real networks. A Provider belongs to one plane (a server with its
// objects): the name of every real network contains that plane's ID, and networks of other planes are neither
// listed nor touched, whatever their UID.
//
// UIDs are untrusted: a restored backup may contain any text. For a UID that CheckUID rejects, Apply returns an error,
// Get returns ErrNotFound, and Delete does nothing.
//
// Methods may be called concurrently, but not for the same UID. A process may be killed during any of them;
// the same call then succeeds when it is repeated. If the provider can tell what to do about a failure, the
// error is a *Problem.
//
// A Provider with connections or goroutines is also an io.Closer. Its user closes it after the last call.
type Provider interface {
	// Name returns the provider's name for status.provider: bridge, record or neutron.
	Name() string

	// ID returns the name of an object's network, whether or not it exists.
	ID(uid types.UID) string

	// List returns the UIDs of all real networks of this plane, including incomplete ones, in any order.
	List(ctx context.Context) ([]types.UID, error)

	// Get reads one real network. The error is ErrNotFound if no part of one exists; Actual.Found may be set
	// even then.
	Get(ctx context.Context, uid types.UID) (Actual, error)

	// Apply makes the real network match: it creates, changes, completes or repairs it.
	Apply(ctx context.Context, want Network) error

	// Delete removes the real network. It succeeds if there is none.
	Delete(ctx context.Context, uid types.UID) error

	// Watch calls changed with the UID of each network that may have changed, whatever changed it, until ctx
	// ends or an error occurs. It calls changed with an empty UID if any network may have changed, and does
	// so once when the watch is established; the caller has to look for earlier changes. It may call changed
	// more often than there are changes and concurrently, but not after it has returned. Only one Watch may
	// run at a time. It returns nil when ctx ends.
	Watch(ctx context.Context, changed func(uid types.UID)) error
}

// Aliaser is a Provider whose networks have a second name, which the provider cannot choose.
type Aliaser interface {
	// Alias returns that name of an object's network for people, as in "Neutron network 4ea2adad". It returns
	// an empty string if there is no network, or none has been observed.
	Alias(uid types.UID) string
}
