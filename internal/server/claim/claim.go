// Package claim stores the values that at most one object may own, such as a Service's cluster IP. A write of the owner
// commits its claims in the same transaction: package write appends the result of Changes to the write's own change.
//
// A claim with a Resource is an object that clients see: the claim of an address is an IPAddress. Others are hidden
// records. Before the server had IPAddresses, hidden records were the claims of addresses too. Such a record is as good
// as an IPAddress; Convert replaces it.
package claim

import (
	"encoding/json"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// Group is the group of the hidden records in the store. It is not an API group, so clients cannot read or write them.
const Group = "claims.internal"

// ownerAnnotation is the annotation of a hidden record with the namespace, a slash and the name of its owner.
const ownerAnnotation = "owner"

// Claims are the claimed values in a store.
type Claims struct {
	Store *store.Store
	Kinds *kind.Registry
}

// Key returns the key at which a new claim is recorded.
func (s Claims) Key(c kind.Claim) object.Key {
	if visible, _, ok := s.visible(c); ok {
		return visible
	}
	return hidden(c)
}

// Keys returns the keys at which a claim may be recorded.
func (s Claims) Keys(c kind.Claim) []object.Key {
	if visible, _, ok := s.visible(c); ok {
		return []object.Key{visible, hidden(c)}
	}
	return []object.Key{hidden(c)}
}

// visible returns the key and the kind of the object that shows a claim to clients. It returns false for a hidden
// claim, and if a CustomResourceDefinition defines the claim's resource.
func (s Claims) visible(c kind.Claim) (object.Key, kind.Kind, bool) {
	if c.Resource.Empty() {
		return "", nil, false
	}
	k, ok := s.Kinds.Stored(c.Resource)
	if !ok || !k.Info().Builtin {
		return "", nil, false
	}
	return object.KeyOf(c.Resource, "", c.Value), k, true
}

// hidden returns the key of the hidden record of a claim.
func hidden(c kind.Claim) object.Key {
	return object.KeyOf(schema.GroupResource{Group: Group, Resource: c.Space}, "", c.Value)
}

// Taken reports whether a claim has an owner.
func (s Claims) Taken(c kind.Claim) bool {
	for _, key := range s.Keys(c) {
		if s.Store.Get(key) != nil || s.Store.Damage(key) != nil {
			return true
		}
	}
	return false
}

// Changes returns the changes of the claims that a write gains and loses. obj is nil for a delete, old for a create.
// The kind has claims. ranges are the ranges from which the addresses among them were assigned.
func (s Claims) Changes(k kind.Kind, obj, old kind.Object, ranges []Range) ([]store.Change, error) {
	var changes []store.Change
	before := map[kind.Claim]bool{}
	if old != nil {
		for _, c := range k.Claims(old) {
			before[c] = true
		}
	}
	if obj != nil {
		for _, c := range k.Claims(obj) {
			if !before[c] {
				gained, err := s.gain(k, c, obj)
				if err != nil {
					return nil, err
				}
				changes = append(append(changes, gained...), within(c, ranges)...)
			}
			delete(before, c)
		}
	}
	for c := range before {
		for _, key := range s.Keys(c) {
			changes = append(changes, store.Change{Key: key, Expect: store.Anything()})
		}
	}
	return changes, nil
}

// gain returns the changes that give a claim without an owner to obj.
func (s Claims) gain(k kind.Kind, c kind.Claim, obj kind.Object) ([]store.Change, error) {
	key, shown, ok := s.visible(c)
	if !ok {
		return []store.Change{{Key: hidden(c), Object: record(c, obj), Expect: store.Absent()}}, nil
	}
	o, err := s.shown(k, shown, c, obj)
	if err != nil {
		return nil, err
	}
	return []store.Change{
		{Key: key, Object: o, Expect: store.Absent()},
		{Key: hidden(c), Expect: store.Absent(), Unchanged: true},
	}, nil
}

// shown returns the object that shows a claim of obj.
func (s Claims) shown(k, shown kind.Kind, c kind.Claim, obj kind.Object) (*object.Object, error) {
	o := k.Record(c, obj)
	o.SetUID(types.UID(uuid.NewString()))
	return stored.Encode(shown, o, object.Form{APIVersion: shown.Info().Endpoints[0].APIVersion(),
		Format: object.Protobuf})
}

// record returns the hidden record of a claim, which names its owner.
func record(c kind.Claim, owner kind.Object) *object.Object {
	record := metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{Kind: "Claim", APIVersion: Group + "/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: c.Value, ResourceVersion: object.RevisionPlaceholder,
			Annotations: map[string]string{ownerAnnotation: owner.GetNamespace() + "/" + owner.GetName()},
		},
	}
	data, _ := json.Marshal(record) // a struct of strings always marshals
	e, _ := object.NewEncoding(object.Form{APIVersion: record.APIVersion}, data)
	return object.New(object.Header{Key: hidden(c)}, nil, e)
}
