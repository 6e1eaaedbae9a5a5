package server

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// claimGroup holds the claimed values in the store. It is not an API group, so clients cannot read or write
// it.
const claimGroup = "claims.internal"

// claimOwner is the annotation of a claim with the namespace, a slash and the name of its owner.
const claimOwner = "owner"

// claimKey returns the key of a claimed value.
func claimKey(c kind.Claim) object.Key {
	return object.KeyOf(schema.GroupResource{Group: claimGroup, Resource: c.Space}, "", c.Value)
}

// assign lets the kind choose the values that the object leaves to the server.
func (s *Server) assign(k kind.Kind, obj, old kind.Object) error {
	if !k.Info().Claims {
		return nil
	}
	taken := func(c kind.Claim) bool {
		key := claimKey(c)
		return s.store.Get(key) != nil || s.store.Damage(key) != nil
	}
	return invalid(k, obj.GetName(), k.Assign(obj, old, taken))
}

// claimChanges returns the claims that a write gains and loses. obj is nil for a delete, old for a create.
func claimChanges(k kind.Kind, obj, old kind.Object) []store.Change {
	if !k.Info().Claims {
		return nil
	}
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
				changes = append(changes,
					store.Change{Key: claimKey(c), Object: claimObject(c, obj), Expect: store.Absent()})
			}
			delete(before, c)
		}
	}
	for c := range before {
		changes = append(changes, store.Change{Key: claimKey(c), Expect: store.Anything()})
	}
	return changes
}

// claimObject returns the stored record of a claim, which names its owner.
func claimObject(c kind.Claim, owner kind.Object) *object.Object {
	record := metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{Kind: "Claim", APIVersion: claimGroup + "/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: c.Value, ResourceVersion: object.RevisionPlaceholder,
			Annotations: map[string]string{claimOwner: owner.GetNamespace() + "/" + owner.GetName()},
		},
	}
	data, _ := json.Marshal(record) // a struct of strings always marshals
	e, _ := object.NewEncoding(object.Form{APIVersion: record.APIVersion}, data)
	return object.New(object.Header{Key: claimKey(c)}, nil, e)
}
