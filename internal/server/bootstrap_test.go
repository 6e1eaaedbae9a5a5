package server_test

import (
	"errors"
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/kind/builtin"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/internal/store/log/memory"
)

// At each start the server corrects the address in its own EndpointSlice. If the address family has changed,
// it replaces the slice, since the type of its addresses is immutable.
func TestStartUpdatesOwnEndpointSlice(t *testing.T) {
	t.Parallel()
	state, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	slice := object.KeyOf(schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}, "default",
		"kubernetes")
	startedAt := func(at netip.AddrPort) *object.Object {
		srv, err := server.New(t.Context(), server.Options{
			Store: state, Kinds: kind.NewRegistry(builtin.Kinds(object.NewCache(0))...),
			Authenticator: auth.Anonymous(), Authorizer: auth.PublicPaths(),
			Initial: builtin.Initial("", at),
		})
		if err != nil {
			t.Fatalf("at %s: %v", at, err)
		}
		srv.Close()
		return state.Get(slice)
	}
	if o := startedAt(netip.AddrPortFrom(netip.Addr{}, 6443)); o != nil {
		t.Error("a server without an address created a slice")
	}
	first := startedAt(netip.MustParseAddrPort("10.1.0.1:6443"))
	if restarted := startedAt(netip.MustParseAddrPort("10.1.0.1:6443")); restarted != first {
		t.Error("a start at the same address changed the slice")
	}
	if moved := startedAt(netip.MustParseAddrPort("10.1.0.2:6443")); moved.UID != first.UID || moved == first {
		t.Errorf("at another address: uid %s of %s, the same object: %t", moved.UID, first.UID, moved == first)
	}
	if other := startedAt(netip.MustParseAddrPort("[2001:db8::1]:6443")); other.UID == first.UID {
		t.Error("after a change of the address family the slice was not replaced")
	}
}

// The server reads the objects that it creates at its start without decoding them. They must not differ from what a
// later start decodes.
func TestInitialObjectsAreAsDecoded(t *testing.T) {
	t.Parallel()
	state, err := store.New(t.Context(), memory.New(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	kinds := kind.NewRegistry(builtin.Kinds(object.NewCache(0))...)
	srv, err := server.New(t.Context(), server.Options{
		Store: state, Kinds: kinds, Authenticator: auth.Anonymous(), Authorizer: auth.PublicPaths(),
		Initial: builtin.Initial("", netip.MustParseAddrPort("10.1.0.1:6443")),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	snapshot, err := state.Snapshot(t.Context(), store.Latest())
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, k := range kinds.Kinds() {
		codec := kind.CodecOf(k)
		snapshot.Scan(object.Prefix(k.Info().GroupResource(), ""), "", func(o *object.Object) bool {
			count++
			shared, err := o.Decoded(codec)
			decoded, decodeErr := o.Decode(codec)
			if err := errors.Join(err, decodeErr); err != nil {
				t.Error(err)
			} else if !equality.Semantic.DeepEqual(shared, decoded) {
				t.Errorf("%s is\n%#v\ndecoded\n%#v", o.Key, shared, decoded)
			}
			return true
		})
	}
	if count < 60 {
		t.Errorf("only %d objects were compared", count)
	}
}
