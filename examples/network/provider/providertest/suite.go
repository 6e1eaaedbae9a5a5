// Package providertest is the contract test of provider.Provider, which each implementation runs. Only tests
// import it.
package providertest

import (
	"context"
	"crypto/rand"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

// Environment describes an implementation to Run. Its functions act on the system in which the networks exist.
type Environment struct {
	// New returns a provider for a plane, always in the same environment.
	New func(plane string) (provider.Provider, error)
	// Remove removes a whole network behind the provider's back.
	Remove func(t *testing.T, id string)
	// Damage lists ways to damage a network behind the provider's back, by name.
	Damage map[string]func(t *testing.T, id string)
	// Incomplete lists incomplete networks that a killed process may leave, by name.
	Incomplete map[string]func(t *testing.T, id string)
}

// Run runs the suite.
func Run(t *testing.T, env Environment) {
	for name, test := range map[string]func(*testing.T, Environment){
		"ApplyCreatesNetwork":                 applyCreatesNetwork,
		"ApplyIsIdempotent":                   applyIsIdempotent,
		"ApplyChangesNetwork":                 applyChangesNetwork,
		"DeleteRemovesOneNetwork":             deleteRemovesOneNetwork,
		"OtherPlanesAreUnaffected":            otherPlanesAreUnaffected,
		"InvalidIDsAreRejected":               invalidIDsAreRejected,
		"WatchReportsForeignRemoval":          watchReportsForeignRemoval,
		"WatchReportsForeignDamage":           watchReportsForeignDamage,
		"ApplyCompletesIncompleteNetwork":     applyCompletesIncompleteNetwork,
		"IncompleteNetworkIsListedAndRemoved": incompleteNetworkIsListedAndRemoved,
		"WatchEndsWithContext":                watchEndsWithContext,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, env)
		})
	}
}

// Plane returns a new random plane ID.
func Plane() string { return "test-" + strings.ToLower(rand.Text()) }

// NewUID returns a new random UID.
func NewUID() types.UID { return types.UID(strings.ToLower(rand.Text())) }

// Wanted returns a desired network.
func Wanted(uid types.UID, cidr, gateway string) provider.Network {
	return provider.Network{
		UID: uid, Owner: "default/test", CIDR: netip.MustParsePrefix(cidr), Gateway: netip.MustParseAddr(gateway),
	}
}

// provide returns a provider whose networks are all removed when the test ends.
func provide(t *testing.T, env Environment, plane string) provider.Provider {
	t.Helper()
	p, err := env.New(plane)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, uid := range list(t, p) {
			if err := p.Delete(context.Background(), uid); err != nil {
				t.Error(err)
			}
		}
	})
	return p
}

func apply(t *testing.T, p provider.Provider, want provider.Network) {
	t.Helper()
	if err := p.Apply(t.Context(), want); err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T, p provider.Provider) []types.UID {
	t.Helper()
	uids, err := p.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(uids)
	return uids
}

// isOnly checks that the wanted network exists, matches, and is the only one of its plane.
func isOnly(t *testing.T, p provider.Provider, want provider.Network) {
	t.Helper()
	if got := list(t, p); !slices.Equal(got, []types.UID{want.UID}) {
		t.Errorf("List returned %v, want only %s", got, want.UID)
	}
	actual, err := p.Get(t.Context(), want.UID)
	if err != nil {
		t.Fatal(err)
	}
	if !actual.Matches(want) {
		t.Errorf("Get returned %+v, want %+v", actual, want)
	}
	if actual.ID != p.ID(want.UID) {
		t.Errorf("the network has the ID %q, want %q", actual.ID, p.ID(want.UID))
	}
}

func isGone(t *testing.T, p provider.Provider, uid types.UID) {
	t.Helper()
	if got := list(t, p); slices.Contains(got, uid) {
		t.Errorf("List still returns the removed network %s", uid)
	}
	if actual, err := p.Get(t.Context(), uid); !errors.Is(err, provider.ErrNotFound) {
		t.Errorf("Get of a removed network returned %+v, %v, want ErrNotFound", actual, err)
	}
}

// watching runs a Watch until the test ends and returns a channel of its events. It waits until the watch is
// established.
func watching(t *testing.T, p provider.Provider) <-chan types.UID {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	events := make(chan types.UID, 10_000)
	ended := make(chan error, 1)
	go func() { ended <- p.Watch(ctx, func(uid types.UID) { events <- uid }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	if first := next(t, events); first != "" {
		t.Fatalf("the first event is for %q, want one for all networks (an empty UID)", first)
	}
	return events
}

// next waits for an event of the watch.
func next(t *testing.T, events <-chan types.UID) types.UID {
	t.Helper()
	const patience = 5 * time.Second // also the acceptable delay of a repair
	select {
	case uid := <-events:
		return uid
	case <-time.After(patience):
		t.Fatalf("the watch reported no event within %v", patience)
		return ""
	}
}

// drain discards pending events of the test's own changes.
func drain(events <-chan types.UID) {
	for {
		select {
		case <-events:
		default:
			return
		}
	}
}
