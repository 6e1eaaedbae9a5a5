package action

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// Absent checks that the server has no object of a name that the cache does not show either. It guards the
// deletion of objects that were created on behalf of the named one: a stale cache may not show yet an object
// that was just created and that another controller has already acted on.
type Absent struct {
	Resource        schema.GroupVersionResource
	Namespace, Name string
}

func (a Absent) String() string {
	return fmt.Sprintf("check that %s/%s does not exist", strings.TrimSuffix(a.Resource.Resource, "s"), a.Name)
}

func (a Absent) Do(ctx context.Context, exec *Executor) error {
	return RetryIfSlow(func() error {
		_, err := client.Of[*metav1.PartialObjectMetadata](exec.Client, a.Resource).Get(ctx, a.Namespace, a.Name)
		switch err = ClassifyNotFound(err, a.Resource, a.Name); {
		case IsGone(err):
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("%w: it does not show %s %s", ErrStaleCache, a.Resource.Resource, a.Name)
	})
}
