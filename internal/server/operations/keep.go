package operations

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/server/tasks"
	"github.com/bowline-dev/bowline/internal/store"
)

// Keeper maintains initial objects while the server runs: after a delete it creates the object again, and after a
// change it corrects the object. All fields are required.
type Keeper struct {
	Store  *store.Store
	Kinds  *kind.Registry
	Reader *stored.Reader
	Tasks  *tasks.Group
	Log    *slog.Logger
	// Ensure creates or corrects an initial object; see write.Writer.
	Ensure func(context.Context, kind.Initial) (existed bool, err error)
}

// keepRetry is the time after which a failed creation is repeated: the interval of Kubernetes' controller.
const keepRetry = time.Minute

// keepTask is the name of follow among the tasks of the server.
const keepTask = "initial objects"

// Start follows the resources of the objects whose Keep is set, until the server's tasks end.
func (k *Keeper) Start(initial []kind.Initial) {
	kept := map[schema.GroupResource][]kind.Initial{}
	for _, i := range initial {
		if served, ok := stored.Named(k.Kinds.Kinds(), i.Object.GetObjectKind().GroupVersionKind()); ok && i.Keep {
			resource := served.Info().GroupResource()
			kept[resource] = append(kept[resource], i)
		}
	}
	for resource, objects := range kept {
		if k.Tasks.Begin(keepTask) {
			go k.follow(resource, objects)
		}
	}
}

// follow ensures the objects of a resource at once, and again after each change of the resource.
func (k *Keeper) follow(resource schema.GroupResource, objects []kind.Initial) {
	defer k.Tasks.Done(keepTask)
	ctx := k.Tasks.Context()
	for {
		changed, err := k.Reader.Changes(resource)
		if err == nil {
			err = k.ensure(ctx, objects)
		}
		if ctx.Err() != nil || k.Store.Err() != nil {
			return
		}
		var retry <-chan time.Time
		if err != nil {
			k.Log.Warn("objects that the server should have are missing or not up to date; trying again", "error", err,
				"after", keepRetry)
			retry = time.After(keepRetry)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-retry:
		}
	}
}

// ensure creates or corrects all objects. It continues after errors.
func (k *Keeper) ensure(ctx context.Context, objects []kind.Initial) error {
	var errs []error
	for _, i := range objects {
		if _, err := k.Ensure(ctx, i); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", i.Object.GetName(), err))
		}
	}
	return errors.Join(errs...)
}
