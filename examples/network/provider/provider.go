// Package provider says what makes networks real: the narrow interface between the Network controller, which compares
// and decides, and the world, which it acts on. Its implementations are package bridge (network namespaces and Linux
// bridges), package record (a JSON file per network) and package neutron (OpenStack's networks); package providertest is the contract
// that all are held to.
// It knows nothing of the Kubernetes API.
package provider

import (
	"context"
	"errors"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
)

// Network is a network as it should be.
type Network struct {
	// UID of the object that declares it. It is the network's identity: for a UID there is one real network or none.
	UID types.UID
	// Owner names the object for people, as in default/example-network. Nothing is ever found by it.
	Owner string
	// CIDR is the address range, masked.
	CIDR netip.Prefix
	// Gateway is the address, within CIDR, that the network answers at.
	Gateway netip.Addr
	// Found is that of what Get has answered just before Apply is called; nil when nobody has looked. Apply may act on it rather
	// than look again.
	Found any
}

// Actual is a network as it was found.
type Actual struct {
	// ID is what the real network is called where it lives.
	ID string
	// CIDR and Gateway are as found; the zero values when there are none.
	CIDR    netip.Prefix
	Gateway netip.Addr
	// Fault says what else keeps it from being whole ("the bridge is down"), empty for nothing. A network that was left
	// half made, or that somebody broke, has one.
	Fault string
	// Found is for Network.Found. It means something to the provider alone.
	Found any
}

// Matches says whether nothing has to be done to make actual what is wanted.
func (a Actual) Matches(want Network) bool {
	return a.Fault == "" && a.CIDR == want.CIDR && a.Gateway == want.Gateway
}

// ErrNotFound is what Get answers when a UID has no real network.
var ErrNotFound = errors.New("there is no such network")

// Provider makes networks real. A Provider is made for one plane (one server with its objects): every real network
// carries that plane's id, and those of other planes are neither listed nor touched, whatever their UID.
//
// Every method may be called by several goroutines, though never by two for one UID. A process may be killed within any
// of them; the same call made again then ends as if nothing had happened. Where it can tell what to do about a failure, the
// error is a *Problem.
//
// One that has connections or goroutines is an io.Closer, which its user closes when no method is called any more.
type Provider interface {
	// Name is the provider's, as status.provider shows it: bridge, record or neutron.
	Name() string

	// ID is what the network of an object is called, made or not.
	ID(uid types.UID) string

	// List is the UIDs of all of which this plane has a real network or any trace of one, in no order.
	List(ctx context.Context) ([]types.UID, error)

	// Get looks at one real network. The error is ErrNotFound when there is none, not even part of one; Found may be set then too.
	Get(ctx context.Context, uid types.UID) (Actual, error)

	// Apply makes the real network what is wanted: it creates it, changes it, or finishes or repairs what is there.
	Apply(ctx context.Context, want Network) error

	// Delete removes the real network. That there is none is no error.
	Delete(ctx context.Context, uid types.UID) error

	// Watch calls changed with the UID of each network that may have changed, whoever changed it, until ctx ends or it
	// fails; it calls it with an empty UID when any may have, and does so first of all, as soon as it sees changes: what
	// happened before is then for the caller to find. It may call it more often than there are changes, from several
	// goroutines at once, and not after it has returned. Only one Watch may run at a time. The error is nil when ctx
	// ended.
	Watch(ctx context.Context, changed func(uid types.UID)) error
}

// Aliaser is a Provider where networks have another name, which is not theirs to choose.
type Aliaser interface {
	// Alias is that name of an object's network for people, as in "Neutron network 4ea2adad"; empty when there is none, or none
	// has been seen.
	Alias(uid types.UID) string
}
