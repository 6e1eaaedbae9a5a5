package server

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/store"
	"github.com/bowline-dev/bowline/object"
)

// claimGroup is where claimed values stand in the store: no API group, so that no client reaches them.
const claimGroup = "claims.internal"

// claimOwner is the annotation that says whose a claim is: a namespace, a slash and a name.
const claimOwner = "owner"

// claimKey is where a claimed value stands.
func claimKey(c kind.Claim) object.Key {
	return object.KeyOf(schema.GroupResource{Group: claimGroup, Resource: c.Space}, "", c.Value)
}

// assign lets a kind choose the values that the object leaves to the server.
func (s *Server) assign(k kind.Kind, obj, old kind.Object) error {
	claimer, ok := k.(kind.Claimer)
	if !ok || !k.Info().Claims {
		return nil
	}
	taken := func(c kind.Claim) bool {
		key := claimKey(c)
		return s.store.Get(key) != nil || s.store.Damage(key) != nil
	}
	return invalid(k, obj.GetName(), claimer.Assign(obj, old, taken))
}

// claimChanges are the claims that a write makes and gives up. obj is nil for a delete, old for a create.
func claimChanges(k kind.Kind, obj, old kind.Object) []store.Change {
	claimer, ok := k.(kind.Claimer)
	if !ok || !k.Info().Claims {
		return nil
	}
	var changes []store.Change
	before := map[kind.Claim]bool{}
	if old != nil {
		for _, c := range claimer.Claims(old) {
			before[c] = true
		}
	}
	if obj != nil {
		for _, c := range claimer.Claims(obj) {
			if !before[c] {
				changes = append(changes, store.Change{Key: claimKey(c), Object: claimObject(c, obj), Expect: store.Absent()})
			}
			delete(before, c)
		}
	}
	for c := range before {
		changes = append(changes, store.Change{Key: claimKey(c), Expect: store.Anything()})
	}
	return changes
}

// claimObject is the record of a claim: which object has the value.
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
