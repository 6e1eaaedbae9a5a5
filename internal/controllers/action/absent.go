package action

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
)

// Absent asks the server whether it has no object of a name either, which the cache does not show. It stands before what was
// made for the object is deleted: a cache that is late does not show yet what has just been made, and another controller has
// worked for.
type Absent struct {
	In              schema.GroupVersionResource
	Namespace, Name string
}

func (a Absent) String() string {
	return fmt.Sprintf("make sure that none of the %s is called %s", a.In.Resource, a.Name)
}

func (a Absent) Do(ctx context.Context, by *Hand) error {
	return Soon(func() error {
		_, err := client.Of[*metav1.PartialObjectMetadata](by.Client, a.In).Get(ctx, a.Namespace, a.Name)
		switch err = Unserved(err, a.In, a.Name); {
		case IsGone(err):
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("%w: it does not show %s %s", ErrBehind, a.In.Resource, a.Name)
	})
}
