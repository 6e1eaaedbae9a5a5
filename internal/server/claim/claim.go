// Package claim stores the values that at most one object may own, such as a Service's cluster IP. A write of the owner
// commits its claims in the same transaction: package write appends the result of Changes to the write's own change.
package claim

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/store"
)

// Group holds the claimed values in the store. It is not an API group, so clients cannot read or write it.
const Group = "claims.internal"

// ownerAnnotation is the annotation of a claim with the namespace, a slash and the name of its owner.
const ownerAnnotation = "owner"

// Key returns the key of a claimed value.
func Key(c kind.Claim) object.Key {
	return object.KeyOf(schema.GroupResource{Group: Group, Resource: c.Space}, "", c.Value)
}

// Changes returns the claims that a write gains and loses. obj is nil for a delete, old for a create. The kind has
// claims.
func Changes(k kind.Kind, obj, old kind.Object) []store.Change {
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
				changes = append(changes, store.Change{Key: Key(c), Object: Object(c, obj), Expect: store.Absent()})
			}
			delete(before, c)
		}
	}
	for c := range before {
		changes = append(changes, store.Change{Key: Key(c), Expect: store.Anything()})
	}
	return changes
}

// Object returns the stored record of a claim, which names its owner.
func Object(c kind.Claim, owner kind.Object) *object.Object {
	record := metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{Kind: "Claim", APIVersion: Group + "/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: c.Value, ResourceVersion: object.RevisionPlaceholder,
			Annotations: map[string]string{ownerAnnotation: owner.GetNamespace() + "/" + owner.GetName()},
		},
	}
	data, _ := json.Marshal(record) // a struct of strings always marshals
	e, _ := object.NewEncoding(object.Form{APIVersion: record.APIVersion}, data)
	return object.New(object.Header{Key: Key(c)}, nil, e)
}

// Owner returns the namespace, a slash and the name of a claim's owner; empty if the claim cannot be decoded.
func Owner(claim *object.Object) string {
	var record metav1.PartialObjectMetadata
	if json.Unmarshal(claim.Stored().Bytes(), &record) != nil {
		return ""
	}
	return record.Annotations[ownerAnnotation]
}
