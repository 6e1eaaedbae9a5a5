// Package adopt decides which objects a controller's object controls: those that refer to it and match its selector. What
// matches and has no controller is adopted, what refers to it and matches no more is released.
//
// The selector says what a ReplicaSet is about, the owner reference who looks after which pod: without the second, two
// ReplicaSets whose selectors overlap would fight.
package adopt

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/action"
)

// Owner is the object that others may belong to.
type Owner struct {
	Object   client.Object
	Kind     schema.GroupVersionKind
	In       schema.GroupVersionResource
	Selector labels.Selector
	// Finalizer is what adopted objects get too; empty is none.
	Finalizer string
}

// Claims are what there is to do about whose objects are whose.
type Claims[T client.Object] struct {
	// Owned refer to the owner and match it; Adopted match it, and belong to nobody yet.
	Owned, Adopted []T
	// Released refer to the owner and do not match it.
	Released []T
}

// Claim looks through objects of the owner's namespace. An owner that is being deleted adopts nothing; what is being deleted is
// neither adopted nor released.
func Claim[T client.Object](owner Owner, objects []T) (c Claims[T]) {
	ending := owner.Object.GetDeletionTimestamp() != nil
	for _, obj := range objects {
		matches := owner.Selector.Matches(labels.Set(obj.GetLabels()))
		controller := metav1.GetControllerOfNoCopy(obj)
		switch {
		case controller != nil && controller.UID != owner.Object.GetUID():
		case controller != nil && matches:
			c.Owned = append(c.Owned, obj)
		case obj.GetDeletionTimestamp() != nil || ending:
		case controller != nil:
			c.Released = append(c.Released, obj)
		case matches:
			c.Adopted = append(c.Adopted, obj)
		}
	}
	return c
}

// Actions make the owner references as the claims say. in is the resource of the objects.
func (c Claims[T]) Actions(owner Owner, in schema.GroupVersionResource) (actions []action.Action) {
	if len(c.Adopted) > 0 {
		actions = append(actions, adoption[T]{owner, in, c.Adopted})
	}
	for _, obj := range c.Released {
		actions = append(actions, Release(owner, in, obj))
	}
	return actions
}

// adoption makes the owner the controller of objects.
type adoption[T client.Object] struct {
	owner   Owner
	in      schema.GroupVersionResource
	objects []T
}

func (a adoption[T]) String() string {
	var names []string
	for _, obj := range a.objects {
		names = append(names, obj.GetName())
	}
	return fmt.Sprintf("adopt %s %s", a.in.Resource, strings.Join(names, ", "))
}

// Do asks the server first whether the owner is still there: the cache may show one that has gone, and what it adopts would be
// collected with it.
func (a adoption[T]) Do(ctx context.Context, by *action.Hand) error {
	if err := action.Soon(func() error { return a.check(ctx, by) }); err != nil {
		return err
	}
	owner := a.owner.Object
	for _, obj := range a.objects {
		yes := true
		patch := action.Patch[T]{
			In: a.in, Object: obj, Type: types.StrategicMergePatchType, Does: "adopt",
			Body: patchOf(obj.GetUID(), reference{
				APIVersion: a.owner.Kind.GroupVersion().String(), Kind: a.owner.Kind.Kind, Name: owner.GetName(), UID: owner.GetUID(),
				Controller: &yes, BlockOwnerDeletion: &yes,
			}, a.owner.Finalizer),
		}
		if err := patch.Do(ctx, by); err != nil {
			return err
		}
	}
	return nil
}

// check says why the owner adopts nothing, or nil.
func (a adoption[T]) check(ctx context.Context, by *action.Hand) error {
	owner := a.owner.Object
	live, err := client.Of[*metav1.PartialObjectMetadata](by.Client, a.owner.In).Get(ctx, owner.GetNamespace(), owner.GetName())
	if err != nil {
		return fmt.Errorf("%s %s/%s adopts nothing: %w", a.owner.Kind.Kind, owner.GetNamespace(), owner.GetName(), err)
	}
	if live.GetUID() != owner.GetUID() || live.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s %s/%s adopts nothing: it is being deleted, or another one has its name now",
			a.owner.Kind.Kind, owner.GetNamespace(), owner.GetName()) // what would have been its own must not be counted as such
	}
	return nil
}

// reference is the part of a patch that names an owner.
type reference struct {
	Delete             string    `json:"$patch,omitempty"`
	APIVersion         string    `json:"apiVersion,omitempty"`
	Kind               string    `json:"kind,omitempty"`
	Name               string    `json:"name,omitempty"`
	UID                types.UID `json:"uid"`
	Controller         *bool     `json:"controller,omitempty"`
	BlockOwnerDeletion *bool     `json:"blockOwnerDeletion,omitempty"`
}

// patchOf is a strategic merge patch of the owner references of the object with that uid. It adds a finalizer, unless that is
// empty.
func patchOf(uid types.UID, r reference, finalizer string) []byte {
	meta := map[string]any{"uid": uid, "ownerReferences": []reference{r}}
	if finalizer != "" {
		meta["finalizers"] = []string{finalizer}
	}
	body, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		panic(err) // strings and booleans
	}
	return body
}

// Release has the owner control an object no more.
func Release[T client.Object](owner Owner, in schema.GroupVersionResource, obj T) action.Action {
	return action.Patch[T]{
		In: in, Object: obj, Type: types.StrategicMergePatchType, Does: "release",
		Body: patchOf(obj.GetUID(), reference{Delete: "delete", UID: owner.Object.GetUID()}, ""),
	}
}
