// Package ownership decides which objects another object controls. An owned object has the owner as its
// controller and matches its selector. Matching objects without a controller are adopted; controlled objects
// that no longer match are released.
//
// The selector alone is not enough, because the selectors of two ReplicaSets may match the same pods.
package ownership

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
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// Owner is the object that controls others.
type Owner struct {
	Object   client.Object
	Kind     schema.GroupVersionKind
	Resource schema.GroupVersionResource
	Selector labels.Selector
	// Finalizer is added to adopted objects unless it is empty.
	Finalizer string
}

// Claims is the result of Claim.
type Claims[T client.Object] struct {
	// Owned are controlled by the owner and match its selector; Adopted match it and have no controller yet.
	Owned, Adopted []T
	// Released are controlled by the owner and do not match its selector.
	Released []T
}

// Claim sorts the objects of the owner's namespace into those it owns, adopts and releases. An owner that is
// being deleted adopts and releases nothing; objects that are being deleted are neither adopted nor released.
func Claim[T client.Object](owner Owner, objects []T) (c Claims[T]) {
	deleting := owner.Object.GetDeletionTimestamp() != nil
	for _, obj := range objects {
		matches := owner.Selector.Matches(labels.Set(obj.GetLabels()))
		controller := metav1.GetControllerOfNoCopy(obj)
		switch {
		case controller != nil && controller.UID != owner.Object.GetUID():
		case controller != nil && matches:
			c.Owned = append(c.Owned, obj)
		case obj.GetDeletionTimestamp() != nil || deleting:
		case controller != nil:
			c.Released = append(c.Released, obj)
		case matches:
			c.Adopted = append(c.Adopted, obj)
		}
	}
	return c
}

// Actions returns the patches of owner references that carry out the claims. in is the resource of the
// objects.
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

// Do first checks on the server that the owner still exists: if the cache shows an owner that was deleted,
// the objects it adopts would be garbage collected with it.
func (a adoption[T]) Do(ctx context.Context, exec *action.Executor) error {
	if err := action.RetryIfSlow(func() error { return a.check(ctx, exec) }); err != nil {
		return err
	}
	owner := a.owner.Object
	for _, obj := range a.objects {
		yes := true
		patch := action.Patch[T]{
			Resource: a.in, Object: obj, Type: types.StrategicMergePatchType, Verb: "adopt",
			Body: ownerPatch(obj.GetUID(), reference{
				APIVersion: a.owner.Kind.GroupVersion().String(), Kind: a.owner.Kind.Kind, Name: owner.GetName(),
				UID:        owner.GetUID(),
				Controller: &yes, BlockOwnerDeletion: &yes,
			}, a.owner.Finalizer),
		}
		if err := patch.Do(ctx, exec); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if the owner no longer exists or is being deleted.
func (a adoption[T]) check(ctx context.Context, exec *action.Executor) error {
	owner := a.owner.Object
	live, err := client.Of[*metav1.PartialObjectMetadata](exec.Client, a.owner.Resource).Get(ctx, owner.GetNamespace(),
		owner.GetName())
	if err != nil {
		return fmt.Errorf("%s %s/%s cannot adopt: %w", a.owner.Kind.Kind, owner.GetNamespace(), owner.GetName(), err)
	}
	if live.GetUID() != owner.GetUID() || live.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s %s/%s cannot adopt: it is being deleted, or another object has its name",
			// the caller must not count the objects as adopted
			a.owner.Kind.Kind, owner.GetNamespace(), owner.GetName())
	}
	return nil
}

// reference is the entry of ownerReferences in a strategic merge patch.
type reference struct {
	Delete             string    `json:"$patch,omitempty"`
	APIVersion         string    `json:"apiVersion,omitempty"`
	Kind               string    `json:"kind,omitempty"`
	Name               string    `json:"name,omitempty"`
	UID                types.UID `json:"uid"`
	Controller         *bool     `json:"controller,omitempty"`
	BlockOwnerDeletion *bool     `json:"blockOwnerDeletion,omitempty"`
}

// ownerPatch returns a strategic merge patch of the owner references of the object with that UID. It adds the
// finalizer unless that is empty.
func ownerPatch(uid types.UID, r reference, finalizer string) []byte {
	meta := map[string]any{"uid": uid, "ownerReferences": []reference{r}}
	if finalizer != "" {
		meta["finalizers"] = []string{finalizer}
	}
	body, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		panic(err) // cannot happen: strings and booleans
	}
	return body
}

// Release returns the action that removes the owner from the owner references of an object.
func Release[T client.Object](owner Owner, in schema.GroupVersionResource, obj T) action.Action {
	return action.Patch[T]{
		Resource: in, Object: obj, Type: types.StrategicMergePatchType, Verb: "release",
		Body: ownerPatch(obj.GetUID(), reference{Delete: "delete", UID: owner.Object.GetUID()}, ""),
	}
}
