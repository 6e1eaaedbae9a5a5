package claim

import (
	"context"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

var services = schema.GroupResource{Resource: "services"}

// Retain returns the changes to commit with the removal of an IPAddress while a service uses its address: a hidden
// record claims the address until Restore creates the IPAddress again. removed is nil if the object cannot be read.
func (s Claims) Retain(ctx context.Context, key object.Key, removed *object.Object) ([]store.Change, error) {
	addr, err := netip.ParseAddr(key.Name())
	if err != nil {
		return nil, nil
	}
	var owner object.Key
	if removed != nil {
		namespace, name, _ := strings.Cut(s.Owner(removed), "/")
		owner = object.KeyOf(services, namespace, name)
	} else if owner, err = s.find(ctx, addr); err != nil {
		return nil, err
	}
	c := kind.AddressClaim(addr)
	_, obj, current := s.user(c, owner)
	if obj == nil {
		return nil, nil
	}
	return []store.Change{
		{Key: hidden(c), Object: record(c, obj), Quota: store.Exempt},
		{Key: current.Key, Expect: store.At(current.Revision), Unchanged: true},
	}, nil
}

// find returns the key of the service that has an address.
func (s Claims) find(ctx context.Context, addr netip.Addr) (owner object.Key, err error) {
	snapshot, err := s.Store.Snapshot(ctx, store.Latest())
	if err != nil {
		return "", err
	}
	snapshot.Scan(object.Prefix(services, ""), "", func(o *object.Object) bool {
		if o.Field(addressField) == addr.String() {
			owner = o.Key
		}
		return owner == ""
	})
	return owner, nil
}

// Restore creates the IPAddress of a name again, after its removal, if a service uses the address.
func (s Claims) Restore(ctx context.Context, name string) error { return s.convert(ctx, name, "") }
