package action

import (
	"context"
	"fmt"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
)

// Same asks the server whether what an owner controls is what was seen, by one list of metadata. It stands before actions that follow
// from all of it together, as the deletion of one pod does from how many others are available.
type Same[T client.Object] struct {
	In       schema.GroupVersionResource
	Owner    client.Object
	Selector labels.Selector
	// Objects are those that were seen, in the owner's namespace. What the owner does not control is left out.
	Objects []T
}

func (s Same[T]) String() string {
	return fmt.Sprintf("make sure that the %s of %s are as they were seen", s.In.Resource, s.Owner.GetName())
}

func (s Same[T]) Do(ctx context.Context, by *Hand) error {
	return Soon(func() error { return s.Ask(ctx, by) })
}

// Ask asks once.
func (s Same[T]) Ask(ctx context.Context, by *Hand) error {
	seen := map[types.UID]string{}
	for _, obj := range s.Objects {
		if metav1.IsControlledBy(obj, s.Owner) && s.Selector.Matches(labels.Set(obj.GetLabels())) {
			seen[obj.GetUID()] = obj.GetResourceVersion()
		}
	}
	for is, err := range controlled(ctx, by, s.In, s.Owner, s.Selector) {
		switch {
		case err != nil:
			return err
		case seen[is.UID] != is.ResourceVersion:
			return fmt.Errorf("%w: %s has changed", ErrBehind, nameOf(s.In, is))
		default:
			delete(seen, is.UID)
		}
	}
	return gone(len(seen), s.In, s.Owner)
}

// gone is the error for those that were seen and not found; nil for none.
func gone(count int, in schema.GroupVersionResource, owner client.Object) error {
	if count == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d %s of %s have gone", ErrBehind, count, in.Resource, owner.GetName())
}

// Known asks the server whether what an owner controls, and is not being deleted, is what was seen, in whatever state. It stands before
// others are told how much that is: what the cache does not show yet is not counted, and what has gone is.
type Known[T client.Object] struct {
	In       schema.GroupVersionResource
	Owner    client.Object
	Selector labels.Selector
	Objects  []T
}

func (k Known[T]) String() string {
	return fmt.Sprintf("make sure that no %s of %s has come or gone", k.In.Resource, k.Owner.GetName())
}

func (k Known[T]) Do(ctx context.Context, by *Hand) error {
	return Soon(func() error { return k.Ask(ctx, by) })
}

// Ask asks once.
func (k Known[T]) Ask(ctx context.Context, by *Hand) error {
	seen := map[types.UID]bool{}
	for _, obj := range k.Objects {
		if obj.GetDeletionTimestamp() == nil && metav1.IsControlledBy(obj, k.Owner) && k.Selector.Matches(labels.Set(obj.GetLabels())) {
			seen[obj.GetUID()] = true
		}
	}
	for is, err := range controlled(ctx, by, k.In, k.Owner, k.Selector) {
		switch {
		case err != nil:
			return err
		case is.DeletionTimestamp != nil: // one that was seen as it was before is left, and found below
		case !seen[is.UID]:
			return fmt.Errorf("%w: it does not show %s", ErrBehind, nameOf(k.In, is))
		default:
			delete(seen, is.UID)
		}
	}
	return gone(len(seen), k.In, k.Owner)
}

// controlled lists the metadata of what the server has that matches a selector and that an owner controls.
func controlled(
	ctx context.Context, by *Hand, in schema.GroupVersionResource, owner client.Object, selector labels.Selector,
) iter.Seq2[*metav1.PartialObjectMetadata, error] {
	options := metav1.ListOptions{LabelSelector: selector.String()}
	return func(yield func(*metav1.PartialObjectMetadata, error) bool) {
		for is, err := range client.Of[*metav1.PartialObjectMetadata](by.Client, in).All(ctx, owner.GetNamespace(), options) {
			if (err != nil || metav1.IsControlledBy(is, owner)) && !yield(is, err) {
				return
			}
		}
	}
}
