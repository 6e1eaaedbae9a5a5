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

// ErrStaleCache is returned by preconditions, such as Unchanged, if the server's objects differ from those
// the decision was based on. A controller need not retry: when the cache catches up, the change triggers a
// new decision.
var ErrStaleCache = errors.New("the cache is stale")

// Unchanged checks that the server still has objects in the observed versions. Apply it before a write to another
// object if the decision depends on the checked objects. The server rejects an update of an object that has changed. It
// does not reject a new pod of a ReplicaSet that was scaled down since the observation, for example when two
// controllers run and the cache of one is late.
type Unchanged[T client.Object] struct {
	Resource schema.GroupVersionResource
	Objects  []T
}

func (c Unchanged[T]) String() string {
	return fmt.Sprintf("check that %d %s are unchanged", len(c.Objects), c.Resource.Resource)
}

func (c Unchanged[T]) Do(ctx context.Context, exec *Executor) error {
	return RetryIfSlow(func() error { return c.Check(ctx, exec) })
}

// Check compares once. See Precondition.
func (c Unchanged[T]) Check(ctx context.Context, exec *Executor) error {
	objects := client.Of[*metav1.PartialObjectMetadata](exec.Client, c.Resource)
	for _, observed := range c.Objects {
		live, err := objects.Get(ctx, observed.GetNamespace(), observed.GetName())
		switch err = ClassifyNotFound(err, c.Resource, observed.GetName()); {
		case IsGone(err):
			return fmt.Errorf("%w: %s no longer exists", ErrStaleCache, nameOf(c.Resource, observed))
		case err != nil:
			return err
		case live.UID != observed.GetUID() || live.ResourceVersion != observed.GetResourceVersion():
			return fmt.Errorf("%w: %s has changed", ErrStaleCache, nameOf(c.Resource, observed))
		}
	}
	return nil
}

// The server's answers to preconditions are valid for maxAnswerAge. If an answer takes longer than that to
// arrive, it is requested again, up to maxAttempts times.
const (
	maxAnswerAge = 2 * time.Second
	maxAttempts  = 3
)

// RetryIfSlow calls read, which reads from the server, again while a call takes longer than maxAnswerAge: the
// answer shows the state at the time of the request, and a write that relies on an old answer may undo what
// others have done since. It returns the error of read, or an error if all attempts were too slow.
func RetryIfSlow(read func() error) error {
	for range maxAttempts {
		start := time.Now()
		if err := read(); err != nil || time.Since(start) < maxAnswerAge {
			return err
		}
	}
	return fmt.Errorf("the server took longer than %s to answer, so its state may have changed since; retrying later",
		maxAnswerAge)
}
