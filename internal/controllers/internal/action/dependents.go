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

// DependentsUnchanged lists the metadata of an owner's dependents and compares the list with the observed
// objects and versions. It guards writes that depend on all dependents, such as the deletion of a pod because
// enough pods are available.
type DependentsUnchanged[T client.Object] struct {
	Resource schema.GroupVersionResource
	Owner    client.Object
	Selector labels.Selector
	// Objects are the observed objects of the owner's namespace. Those that the owner does not control or the
	// selector does not match are ignored.
	Objects []T
}

func (s DependentsUnchanged[T]) String() string {
	return fmt.Sprintf("check that the %s of %s are unchanged", s.Resource.Resource, s.Owner.GetName())
}

func (s DependentsUnchanged[T]) Do(ctx context.Context, exec *Executor) error {
	return RetryIfSlow(func() error { return s.Check(ctx, exec) })
}

// Check compares once. See Precondition.
func (s DependentsUnchanged[T]) Check(ctx context.Context, exec *Executor) error {
	observed := map[types.UID]string{}
	for _, obj := range s.Objects {
		if metav1.IsControlledBy(obj, s.Owner) && s.Selector.Matches(labels.Set(obj.GetLabels())) {
			observed[obj.GetUID()] = obj.GetResourceVersion()
		}
	}
	for live, err := range controlled(ctx, exec, s.Resource, s.Owner, s.Selector) {
		switch {
		case err != nil:
			return err
		case observed[live.UID] != live.ResourceVersion:
			return fmt.Errorf("%w: %s has changed", ErrStaleCache, nameOf(s.Resource, live))
		default:
			delete(observed, live.UID)
		}
	}
	return missing(len(observed), s.Resource, s.Owner)
}

// missing returns the error for count observed objects that the server no longer has, or nil if count is 0.
func missing(count int, in schema.GroupVersionResource, owner client.Object) error {
	if count == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d %s of %s no longer exist", ErrStaleCache, count, in.Resource, owner.GetName())
}

// DependentUIDsUnchanged checks that the objects that an owner controls, without those being deleted, are
// exactly the observed ones, in whatever version. It guards a status with their count: a stale cache does not
// show new objects and still shows deleted ones.
type DependentUIDsUnchanged[T client.Object] struct {
	Resource schema.GroupVersionResource
	Owner    client.Object
	Selector labels.Selector
	Objects  []T
}

func (k DependentUIDsUnchanged[T]) String() string {
	return fmt.Sprintf("check that no %s of %s were added or removed", k.Resource.Resource, k.Owner.GetName())
}

func (k DependentUIDsUnchanged[T]) Do(ctx context.Context, exec *Executor) error {
	return RetryIfSlow(func() error { return k.Check(ctx, exec) })
}

// Check compares once. See Precondition.
func (k DependentUIDsUnchanged[T]) Check(ctx context.Context, exec *Executor) error {
	observed := map[types.UID]bool{}
	for _, obj := range k.Objects {
		if obj.GetDeletionTimestamp() == nil && metav1.IsControlledBy(obj, k.Owner) &&
			k.Selector.Matches(labels.Set(obj.GetLabels())) {
			observed[obj.GetUID()] = true
		}
	}
	for live, err := range controlled(ctx, exec, k.Resource, k.Owner, k.Selector) {
		switch {
		case err != nil:
			return err
		// if it was observed before its deletion, it remains in observed and counts as missing
		case live.DeletionTimestamp != nil:
		case !observed[live.UID]:
			return fmt.Errorf("%w: it does not show %s", ErrStaleCache, nameOf(k.Resource, live))
		default:
			delete(observed, live.UID)
		}
	}
	return missing(len(observed), k.Resource, k.Owner)
}

// controlled lists the metadata of the objects on the server that match a selector and are controlled by an
// owner.
func controlled(
	ctx context.Context, exec *Executor, in schema.GroupVersionResource, owner client.Object, selector labels.Selector,
) iter.Seq2[*metav1.PartialObjectMetadata, error] {
	options := metav1.ListOptions{LabelSelector: selector.String()}
	return func(yield func(*metav1.PartialObjectMetadata, error) bool) {
		for obj, err := range client.Of[*metav1.PartialObjectMetadata](exec.Client, in).All(ctx, owner.GetNamespace(),
			options) {
			if (err != nil || metav1.IsControlledBy(obj, owner)) && !yield(obj, err) {
				return
			}
		}
	}
}
