package operations

import (
	"context"
	"fmt"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/internal/kind"
)

// Bootstrap calls ensure for each initial object. ensure creates the object if it does not exist, or else corrects it;
// it reports whether the object existed.
func Bootstrap(ctx context.Context, log *slog.Logger, initial []kind.Initial,
	ensure func(context.Context, kind.Initial) (existed bool, err error)) error {
	for _, i := range initial {
		name := i.Object.GetObjectKind().GroupVersionKind().Kind + " " + i.Object.GetName()
		existed, err := ensure(ctx, i)
		switch {
		case err == nil:
		case ctx.Err() == nil && (existed || apierrors.IsInvalid(err)):
			// An object of a user may conflict, such as a Service with the same address, or the disk may be
			// full. A server without the object, or with its old state, is better than none.
			log.Warn("an object that the server should have is missing or not up to date", "object", name, "error", err)
		default:
			return fmt.Errorf("creating %s: %w", name, err)
		}
	}
	return nil
}
