package providertest

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/examples/network/provider"
)

func makesWhatIsWanted(t *testing.T, w World) {
	for name, want := range map[string]provider.Network{
		"IPv4": Wanted(NewUID(), "192.168.0.0/16", "192.168.0.1"),
		"IPv6": Wanted(NewUID(), "fd00:1::/64", "fd00:1::1"),
	} {
		t.Run(name, func(t *testing.T) {
			p := provide(t, w, Plane())
			isGone(t, p, want.UID)
			apply(t, p, want)
			isOnly(t, p, want)
		})
	}
}

func applyTwiceIsOneNetwork(t *testing.T, w World) {
	plane, want := Plane(), Wanted(NewUID(), "192.168.0.0/16", "192.168.0.1")
	p := provide(t, w, plane)
	apply(t, p, want)
	apply(t, p, want)
	again := provide(t, w, plane) // as in another process
	apply(t, again, want)
	isOnly(t, p, want)
}

func changesWhatIsThere(t *testing.T, w World) {
	p, uid := provide(t, w, Plane()), NewUID()
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

func deletesAndSaysSo(t *testing.T, w World) {
	p := provide(t, w, Plane())
	stays, goes := Wanted(NewUID(), "10.1.0.0/16", "10.1.0.1"), Wanted(NewUID(), "10.1.0.0/16", "10.1.0.1")
	apply(t, p, stays)
	apply(t, p, goes)
	for range 2 {
		if err := p.Delete(t.Context(), goes.UID); err != nil {
			t.Fatal(err)
		}
		isGone(t, p, goes.UID)
	}
	isOnly(t, p, stays)
}

func otherPlanesAreNotTouched(t *testing.T, w World) {
	plane, uid := Plane(), NewUID()
	ours, theirs := provide(t, w, plane), provide(t, w, plane+"-2")
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

func refusesAStrangeUID(t *testing.T, w World) {
	p := provide(t, w, Plane())
	for _, uid := range []types.UID{"", "../x", "a.b", "a/b"} {
		if err := p.Apply(t.Context(), Wanted(uid, "10.1.0.0/16", "10.1.0.1")); err == nil {
			t.Errorf("a network for uid %q was made", uid)
		}
	}
	if _, err := w.New("a.plane"); err == nil {
		t.Error("a provider for the plane a.plane was made")
	}
}

func seesRemovalBehindItsBack(t *testing.T, w World) {
	p, want := provide(t, w, Plane()), Wanted(NewUID(), "10.1.0.0/16", "10.1.0.1")
	apply(t, p, want)
	told := watching(t, p)
	for range 2 { // the second round removes a network that was created during the watch
		drain(told)
		w.Remove(t, p.ID(want.UID))
		for errors.Is(found(p, want), nil) {
			next(t, told)
		}
		for next(t, told) != want.UID {
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

func seesHarmBehindItsBack(t *testing.T, w World) {
	for name, harm := range w.Harm {
		t.Run(name, func(t *testing.T) {
			p, want := provide(t, w, Plane()), Wanted(NewUID(), "10.1.0.0/16", "10.1.0.1")
			apply(t, p, want)
			told := watching(t, p)
			harm(t, p.ID(want.UID))
			for next(t, told) != want.UID {
			}
			if actual, err := p.Get(t.Context(), want.UID); err != nil || actual.Matches(want) {
				t.Errorf("found %+v, %v, want something broken", actual, err)
			}
			apply(t, p, want)
			isOnly(t, p, want)
		})
	}
}

func finishesWhatIsHalfMade(t *testing.T, w World) {
	for name, half := range w.Halves {
		t.Run(name, func(t *testing.T) {
			p, want := provide(t, w, Plane()), Wanted(NewUID(), "10.1.0.0/16", "10.1.0.1")
			half(t, p.ID(want.UID))
			apply(t, p, want)
			isOnly(t, p, want)
		})
	}
}

func sweepsWhatIsHalfMade(t *testing.T, w World) {
	for name, half := range w.Halves {
		t.Run(name, func(t *testing.T) {
			plane, uid := Plane(), NewUID()
			p := provide(t, w, plane)
			half(t, p.ID(uid))
			for _, found := range list(t, p) {
				if err := p.Delete(t.Context(), found); err != nil {
					t.Fatal(err)
				}
			}
			isGone(t, p, uid)
			again := provide(t, w, plane)
			isGone(t, again, uid)
		})
	}
}

func watchEndsWithItsContext(t *testing.T, w World) {
	p, want := provide(t, w, Plane()), Wanted(NewUID(), "10.1.0.0/16", "10.1.0.1")
	apply(t, p, want)
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		told := make(chan types.UID, 100)
		go func() { ended <- p.Watch(ctx, func(uid types.UID) { told <- uid }) }()
		next(t, told)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
