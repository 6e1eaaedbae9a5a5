package action

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// ErrBehind is what Current fails with: the decision was made of what is no more. There is nothing to do about it, since the cache
// will show what is, and that is a reason to decide again.
var ErrBehind = errors.New("the cache is behind")

// Current asks the server whether objects are as they were seen. It stands before actions on others that follow from these: what is
// written to an object is refused when that has changed, but nothing refuses a pod for a replicaset that is smaller by now, as when
// two controllers work at a time and one of them hears of it late.
type Current[T client.Object] struct {
	In      schema.GroupVersionResource
	Objects []T
}

func (c Current[T]) String() string {
	return fmt.Sprintf("make sure that %d %s are as they were seen", len(c.Objects), c.In.Resource)
}

func (c Current[T]) Do(ctx context.Context, by *Hand) error {
	live := client.Of[*metav1.PartialObjectMetadata](by.Client, c.In)
	for _, seen := range c.Objects {
		is, err := live.Get(ctx, seen.GetNamespace(), seen.GetName())
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%w: %s is gone", ErrBehind, nameOf(c.In, seen))
		case err != nil:
			return err
		case is.UID != seen.GetUID() || is.ResourceVersion != seen.GetResourceVersion():
			return fmt.Errorf("%w: %s has changed", ErrBehind, nameOf(c.In, seen))
		}
	}
	return nil
}
