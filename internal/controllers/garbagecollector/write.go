package garbagecollector

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/internal/controllers/action"
)

// place is where objects of a kind are.
type place struct{ in schema.GroupVersionResource }

// forget takes the references to some owners from an object, if it is as it was seen.
func forget(at place, obj object, owners []types.UID) action.Action {
	kept := slices.DeleteFunc(slices.Clone(obj.OwnerReferences), func(r metav1.OwnerReference) bool { return slices.Contains(owners, r.UID) })
	return patch(at, obj, "forget owners of", map[string]any{"ownerReferences": orNull(kept)})
}

// release takes a finalizer from the object.
func (s seen) release(finalizer string) action.Action {
	kept := slices.DeleteFunc(slices.Clone(s.Finalizers), func(f string) bool { return f == finalizer })
	return patch(s.place, s.object, "release", map[string]any{"finalizers": orNull(kept)})
}

// orNull is a list, or null where it is empty: a merge patch then takes the field away.
func orNull[T any](list []T) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

// patch changes metadata of an object if nobody has changed it since it was seen.
func patch(at place, obj object, does string, metadata map[string]any) action.Action {
	metadata["uid"], metadata["resourceVersion"] = obj.UID, obj.ResourceVersion
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		panic(err) // strings, and what was read from JSON
	}
	return action.Patch[object]{In: at.in, Object: obj, Type: types.MergePatchType, Body: body, Does: does}
}
