package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

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
	return Soon(func() error { return c.check(ctx, by) })
}

func (c Current[T]) check(ctx context.Context, by *Hand) error {
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

// Whole asks the server whether the objects that an owner controls are those that were seen, and as they were seen. It stands before
// actions that follow from all of them: a cache that does not show one yet shows nothing that could be asked about.
type Whole[T client.Object] struct {
	In       schema.GroupVersionResource
	Owner    client.Object
	Selector labels.Selector // which all of them match
	Objects  []T
}

func (w Whole[T]) String() string {
	return fmt.Sprintf("make sure that the %s of %s are the %d that were seen", w.In.Resource, w.Owner.GetName(), len(w.Objects))
}

func (w Whole[T]) Do(ctx context.Context, by *Hand) error {
	return Soon(func() error { return w.check(ctx, by) })
}

func (w Whole[T]) check(ctx context.Context, by *Hand) error {
	live := client.Of[*metav1.PartialObjectMetadata](by.Client, w.In)
	page, err := live.List(ctx, w.Owner.GetNamespace(), metav1.ListOptions{LabelSelector: w.Selector.String()})
	if err != nil {
		return err
	}
	versions := map[types.UID]string{}
	for _, is := range page.Items {
		if metav1.IsControlledBy(is, w.Owner) {
			versions[is.UID] = is.ResourceVersion
		}
	}
	if len(versions) != len(w.Objects) {
		return fmt.Errorf("%w: %s has %d %s, and %d were seen", ErrBehind, w.Owner.GetName(), len(versions), w.In.Resource, len(w.Objects))
	}
	for _, seen := range w.Objects {
		if versions[seen.GetUID()] != seen.GetResourceVersion() {
			return fmt.Errorf("%w: %s has changed", ErrBehind, nameOf(w.In, seen))
		}
	}
	return nil
}

// How long an answer of the server is worth something, and how often it is asked for one.
const (
	fresh    = 2 * time.Second
	attempts = 3
)

// Soon asks the server what is, again where the answer took so long that it may be no more: it shows what was there when it was
// asked for, and who acts on it half a minute later undoes what others have done in between.
func Soon(ask func() error) error {
	for range attempts {
		asked := time.Now()
		if err := ask(); err != nil || time.Since(asked) < fresh {
			return err
		}
	}
	return fmt.Errorf("the server's answers take longer than %s, so that nothing can be done that follows from them; trying again later", fresh)
}
