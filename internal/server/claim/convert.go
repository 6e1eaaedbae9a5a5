package claim

import (
	"context"
	"errors"
	"net/netip"
	"strings"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// addressField is the selectable field of services with their address.
const addressField = "spec.clusterIP"

const (
	// batch is the number of claims that Convert converts in one commit.
	batch = 100
	// convertTries is how often a conversion is repeated after other writers were faster.
	convertTries = 10
)

// Convert replaces hidden records of addresses, which an earlier version of the server has left, with IPAddresses, and
// records the addresses of services that have no record. A record stays if its owner cannot be read, or if an IPAddress
// of a user has the address.
func (s Claims) Convert(ctx context.Context) error {
	if _, _, ok := s.visible(kind.AddressClaim(netip.Addr{})); !ok {
		return nil
	}
	snapshot, err := s.Store.Snapshot(ctx, store.Latest())
	if err != nil {
		return err
	}
	var pending []string // addresses
	snapshot.Scan(object.Prefix(hidden(kind.AddressClaim(netip.Addr{})).GroupResource(), ""), "",
		func(o *object.Object) bool { pending = append(pending, o.Key.Name()); return true })
	owners := map[string]object.Key{} // of addresses without a record
	for _, k := range s.Kinds.Kinds() {
		if !k.Info().Claims {
			continue
		}
		snapshot.Scan(object.Prefix(k.Info().GroupResource(), ""), "", func(o *object.Object) bool {
			addr, err := netip.ParseAddr(o.Field(addressField))
			if err == nil && !s.Taken(kind.AddressClaim(addr)) {
				owners[addr.String()] = o.Key
				pending = append(pending, addr.String())
			}
			return true
		})
	}
	for len(pending) > 0 {
		part := pending[:min(len(pending), batch)]
		pending = pending[len(part):]
		if err := s.convertAll(ctx, part, owners); err != nil {
			return err
		}
	}
	return nil
}

// convertAll converts the records of some addresses in one commit, or each in its own if another writer is faster.
func (s Claims) convertAll(ctx context.Context, addresses []string, owners map[string]object.Key) error {
	var changes []store.Change
	for _, address := range addresses {
		more, err := s.conversion(address, owners[address])
		if err != nil {
			return err
		}
		changes = append(changes, more...)
	}
	_, err := s.Store.Commit(ctx, changes...)
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	for _, address := range addresses {
		if err := s.convert(ctx, address, owners[address]); err != nil {
			return err
		}
	}
	return nil
}

// convert converts the record of one address.
func (s Claims) convert(ctx context.Context, address string, owner object.Key) error {
	for try := 0; ; try++ {
		changes, err := s.conversion(address, owner)
		if err == nil {
			_, err = s.Store.Commit(ctx, changes...)
		}
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) || try >= convertTries {
			return err
		}
	}
}

// conversion returns the changes that convert the record of an address; none if there is nothing to convert. owner is
// the key of the service that uses an address without a record.
func (s Claims) conversion(address string, owner object.Key) ([]store.Change, error) {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return nil, nil
	}
	c := kind.AddressClaim(addr)
	key, shown, _ := s.visible(c)
	old, now := s.Store.Get(hidden(c)), s.Store.Get(key)
	switch {
	case s.Store.Damage(hidden(c)) != nil || s.Store.Damage(key) != nil || old == nil && (now != nil || owner == ""):
		return nil, nil
	case old != nil && now != nil && s.Owner(now) == s.Owner(old):
		return []store.Change{
			{Key: old.Key, Expect: store.At(old.Revision)},
			{Key: key, Expect: store.At(now.Revision), Unchanged: true},
		}, nil
	case now != nil:
		return nil, nil
	case old != nil:
		namespace, name, _ := strings.Cut(s.Owner(old), "/")
		owner = object.KeyOf(services, namespace, name)
	}
	k, obj, current := s.user(c, owner)
	if obj == nil {
		return nil, nil
	}
	fresh, err := s.shown(k, shown, c, obj)
	if err != nil {
		return nil, err
	}
	changes := []store.Change{{Key: key, Object: fresh, Expect: store.Absent(), Quota: store.Exempt}}
	if old != nil { // whoever releases the claim deletes the record
		return append(changes, store.Change{Key: old.Key, Expect: store.At(old.Revision)}), nil
	}
	return append(changes,
		store.Change{Key: hidden(c), Expect: store.Absent(), Unchanged: true},
		store.Change{Key: current.Key, Expect: store.At(current.Revision), Unchanged: true}), nil
}

// user returns the object at a key, with its kind, if it has a claim.
func (s Claims) user(c kind.Claim, key object.Key) (kind.Kind, kind.Object, *object.Object) {
	k, ok := s.Kinds.Stored(key.GroupResource())
	o := s.Store.Get(key)
	if !ok || !k.Info().Claims || o == nil {
		return nil, nil, nil
	}
	obj, err := stored.Shared(k, o)
	if err != nil {
		return nil, nil, nil
	}
	for _, has := range k.Claims(obj) {
		if has == c {
			return k, obj, o
		}
	}
	return nil, nil, nil
}
