package action

import (
	"context"
	"fmt"

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
	return Soon(func() error { return s.check(ctx, by) })
}

func (s Same[T]) check(ctx context.Context, by *Hand) error {
	seen := map[types.UID]string{}
	for _, obj := range s.Objects {
		if metav1.IsControlledBy(obj, s.Owner) && s.Selector.Matches(labels.Set(obj.GetLabels())) {
			seen[obj.GetUID()] = obj.GetResourceVersion()
		}
	}
	options := metav1.ListOptions{LabelSelector: s.Selector.String()}
	for is, err := range client.Of[*metav1.PartialObjectMetadata](by.Client, s.In).All(ctx, s.Owner.GetNamespace(), options) {
		switch {
		case err != nil:
			return err
		case !metav1.IsControlledBy(is, s.Owner):
		case seen[is.UID] != is.ResourceVersion:
			return fmt.Errorf("%w: %s has changed", ErrBehind, nameOf(s.In, is))
		default:
			delete(seen, is.UID)
		}
	}
	if len(seen) > 0 {
		return fmt.Errorf("%w: %d %s of %s have gone", ErrBehind, len(seen), s.In.Resource, s.Owner.GetName())
	}
	return nil
}
