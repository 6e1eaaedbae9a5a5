package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// ErrBehind is what actions fail with that ask the server whether something is as it was seen, such as Current: the decision
// was made of what is no more. There is nothing to do about it, since the cache will show what is, and that is a reason to
// decide again.
var ErrBehind = errors.New("the cache is behind")

// Current asks the server whether objects are as they were seen. It stands before actions on others that follow from these:
// what is written to an object is refused when that has changed, but nothing refuses a pod for a replicaset that is smaller by
// now, as when two controllers work at a time and one of them hears of it late.
type Current[T client.Object] struct {
	In      schema.GroupVersionResource
	Objects []T
}

func (c Current[T]) String() string {
	return fmt.Sprintf("make sure that %d %s are as they were seen", len(c.Objects), c.In.Resource)
}

func (c Current[T]) Do(ctx context.Context, by *Hand) error {
	return Soon(func() error { return c.Ask(ctx, by) })
}

// Ask asks once.
func (c Current[T]) Ask(ctx context.Context, by *Hand) error {
	live := client.Of[*metav1.PartialObjectMetadata](by.Client, c.In)
	for _, seen := range c.Objects {
		is, err := live.Get(ctx, seen.GetNamespace(), seen.GetName())
		switch err = Unserved(err, c.In, seen.GetName()); {
		case IsGone(err):
			return fmt.Errorf("%w: %s is gone", ErrBehind, nameOf(c.In, seen))
		case err != nil:
			return err
		case is.UID != seen.GetUID() || is.ResourceVersion != seen.GetResourceVersion():
			return fmt.Errorf("%w: %s has changed", ErrBehind, nameOf(c.In, seen))
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
