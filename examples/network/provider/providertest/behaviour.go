package providertest

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

func applyCreatesNetwork(t *testing.T, env Environment) {
	for name, want := range map[string]provider.Network{
		"IPv4": Wanted(NewUID(), "192.168.0.0/16", "192.168.0.1"),
		"IPv6": Wanted(NewUID(), "fd00:1::/64", "fd00:1::1"),
	} {
		t.Run(name, func(t *testing.T) {
			p := provide(t, env, Plane())
			isGone(t, p, want.UID)
			apply(t, p, want)
			isOnly(t, p, want)
		})
	}
}

func applyIsIdempotent(t *testing.T, env Environment) {
	plane, want := Plane(), Wanted(NewUID(), "192.168.0.0/16", "192.168.0.1")
	p := provide(t, env, plane)
	apply(t, p, want)
	apply(t, p, want)
	reopened := provide(t, env, plane) // as in another process
	apply(t, reopened, want)
	isOnly(t, p, want)
}

func applyChangesNetwork(t *testing.T, env Environment) {
	p, uid := provide(t, env, Plane()), NewUID()
	for _, want := range []provider.Network{
		Wanted(uid, "192.168.0.0/16", "192.168.0.1"),
		Wanted(uid, "192.168.0.0/24", "192.168.0.1"), // the prefix alone
		Wanted(uid, "192.168.0.0/24", "192.168.0.2"), // the gateway alone
		Wanted(uid, "10.0.0.0/8", "10.1.2.3"),
		Wanted(uid, "fd00:1::/64", "fd00:1::1"), // the family
	} {
		apply(t, p, want)
		isOnly(t, p, want)
	}
}

func deleteRemovesOneNetwork(t *testing.T, env Environment) {
	p := provide(t, env, Plane())
	kept, removed := Wanted(NewUID(), "10.1.0.0/16", "10.1.0.1"), Wanted(NewUID(), "10.1.0.0/16", "10.1.0.1")
	apply(t, p, kept)
	apply(t, p, removed)
	for range 2 {
		if err := p.Delete(t.Context(), removed.UID); err != nil {
			t.Fatal(err)
		}
		isGone(t, p, removed.UID)
	}
	isOnly(t, p, kept)
}

func otherPlanesAreUnaffected(t *testing.T, env Environment) {
	plane, uid := Plane(), NewUID()
	ours, theirs := provide(t, env, plane), provide(t, env, plane+"-2")
	want, other := Wanted(uid, "10.1.0.0/16", "10.1.0.1"), Wanted(uid, "10.2.0.0/16", "10.2.0.1")
	apply(t, ours, want)
	apply(t, theirs, other)
	isOnly(t, ours, want)
	isOnly(t, theirs, other)
	if err := ours.Delete(t.Context(), uid); err != nil {
		t.Fatal(err)
	}
	isGone(t, ours, uid)
	isOnly(t, theirs, other)
}

func invalidIDsAreRejected(t *testing.T, env Environment) {
	p, want := provide(t, env, Plane()), Wanted(NewUID(), "10.1.0.0/16", "10.1.0.1")
	apply(t, p, want)
	for _, uid := range []types.UID{"", "../x", "a.b", "a/b", "/../" + types.UID(p.ID(want.UID)), "a\x00b", "a\nb"} {
		if err := p.Apply(t.Context(), Wanted(uid, "10.1.0.0/16", "10.1.0.1")); err == nil {
			t.Errorf("Apply accepted the UID %q", uid)
		}
		if _, err := p.Get(t.Context(), uid); !errors.Is(err, provider.ErrNotFound) {
			t.Errorf("Get of the UID %q: got error %v, want ErrNotFound", uid, err)
		}
		if err := p.Delete(t.Context(), uid); err != nil {
			t.Errorf("Delete of the UID %q: %v", uid, err)
		}
	}
	isOnly(t, p, want)
	if _, err := env.New("a.plane"); err == nil {
		t.Error("New accepted the plane ID a.plane")
	}
}

func watchReportsForeignRemoval(t *testing.T, env Environment) {
	p, want := provide(t, env, Plane()), Wanted(NewUID(), "10.1.0.0/16", "10.1.0.1")
	apply(t, p, want)
	events := watching(t, p)
	for range 2 { // the second round removes a network that was created during the watch
		drain(events)
		env.Remove(t, p.ID(want.UID))
		for errors.Is(found(p, want), nil) {
			next(t, events)
		}
		for next(t, events) != want.UID {
		}
		isGone(t, p, want.UID)
		apply(t, p, want)
		isOnly(t, p, want)
	}
}

func found(p provider.Provider, want provider.Network) error {
	_, err := p.Get(context.Background(), want.UID)
	return err
}

func watchReportsForeignDamage(t *testing.T, env Environment) {
	for name, damage := range env.Damage {
		t.Run(name, func(t *testing.T) {
			p, want := provide(t, env, Plane()), Wanted(NewUID(), "10.1.0.0/16", "10.1.0.1")
			apply(t, p, want)
			events := watching(t, p)
			damage(t, p.ID(want.UID))
			for next(t, events) != want.UID {
			}
			if actual, err := p.Get(t.Context(), want.UID); err != nil || actual.Matches(want) {
				t.Errorf("after the damage Get returned %+v, %v, want a network that does not match", actual, err)
			}
			apply(t, p, want)
			isOnly(t, p, want)
		})
	}
}

func applyCompletesIncompleteNetwork(t *testing.T, env Environment) {
	for name, leave := range env.Incomplete {
		t.Run(name, func(t *testing.T) {
			p, want := provide(t, env, Plane()), Wanted(NewUID(), "10.1.0.0/16", "10.1.0.1")
			leave(t, p.ID(want.UID))
			apply(t, p, want)
			isOnly(t, p, want)
		})
	}
}

func incompleteNetworkIsListedAndRemoved(t *testing.T, env Environment) {
	for name, leave := range env.Incomplete {
		t.Run(name, func(t *testing.T) {
			plane, uid := Plane(), NewUID()
			p := provide(t, env, plane)
			leave(t, p.ID(uid))
			for _, found := range list(t, p) {
				if err := p.Delete(t.Context(), found); err != nil {
					t.Fatal(err)
				}
			}
			isGone(t, p, uid)
			reopened := provide(t, env, plane)
			isGone(t, reopened, uid)
		})
	}
}

func watchEndsWithContext(t *testing.T, env Environment) {
	p, want := provide(t, env, Plane()), Wanted(NewUID(), "10.1.0.0/16", "10.1.0.1")
	apply(t, p, want)
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		events := make(chan types.UID, 100)
		go func() { ended <- p.Watch(ctx, func(uid types.UID) { events <- uid }) }()
		next(t, events)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
