package garbagecollector

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// location is the resource that an object belongs to.
type location struct{ in schema.GroupVersionResource }

// removeOwners removes the references to the given owners from obj unless obj has changed since it was observed.
func removeOwners(at location, obj object, owners []types.UID) action.Action {
	remaining := slices.DeleteFunc(slices.Clone(obj.OwnerReferences), func(r metav1.OwnerReference) bool {
		return slices.Contains(owners, r.UID)
	})
	return patch(at, obj, "forget owners of", map[string]any{"ownerReferences": orNull(remaining)})
}

// release removes a finalizer from the object.
func (s input) release(finalizer string) action.Action {
	remaining := slices.DeleteFunc(slices.Clone(s.Finalizers), func(f string) bool { return f == finalizer })
	return patch(s.location, s.object, "release", map[string]any{"finalizers": orNull(remaining)})
}

// orNull returns the list, or nil if it is empty: a merge patch then removes the field.
func orNull[T any](list []T) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

// patch changes metadata of obj, conditional on the observed uid and resource version.
func patch(at location, obj object, verb string, metadata map[string]any) action.Action {
	metadata["uid"], metadata["resourceVersion"] = obj.UID, obj.ResourceVersion
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		panic(err) // cannot fail: strings, and values decoded from JSON
	}
	return action.Patch[object]{Resource: at.in, Object: obj, Type: types.MergePatchType, Body: body, Verb: verb}
}
