// Package expiry deletes the objects of kinds with a Lifetime (events) when it has passed since their last write,
// regardless of finalizers. Kube-apiserver does the same with leases of etcd. Package write calls Schedule after each
// commit of such an object. A server does not know when the objects that it finds at its start were written; their
// lifetime starts anew.
package expiry

import (
	"context"
	"log/slog"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/tasks"
	"github.com/bowline-dev/bowline/internal/store"
)

// Options configure an Expiry. All fields are required.
type Options struct {
	Store *store.Store
	Kinds *kind.Registry
	Tasks *tasks.Group
	Log   *slog.Logger
}

// Expiry deletes the objects of one server that have reached their lifetime. Load is called before its other methods,
// which may be called concurrently; Stop may also be called without Load.
type Expiry struct {
	options Options
	queues  map[schema.GroupResource]*queue // of the kinds that have a Lifetime
}

// New returns an Expiry that deletes nothing before Load.
func New(o Options) *Expiry { return &Expiry{options: o, queues: map[schema.GroupResource]*queue{}} }

// Load starts the expiry of all kinds with a Lifetime. The stored objects of a kind expire together, and are not read
// before; if disabled is set, they do not expire.
func (e *Expiry) Load(ctx context.Context, disabled bool) error {
	snapshot, err := e.options.Store.Snapshot(ctx, store.Latest())
	if err != nil {
		return err
	}
	for _, k := range e.options.Kinds.Kinds() {
		info := k.Info()
		if info.Lifetime == 0 {
			continue
		}
		q := &queue{Options: e.options, resource: info.GroupResource(), lifetime: info.Lifetime}
		e.queues[q.resource] = q
		if disabled {
			continue
		}
		snapshot.Scan(object.Prefix(q.resource, ""), "", func(*object.Object) bool {
			q.add("", snapshot.Revision())
			return false
		})
	}
	return nil
}

// Schedule schedules the expiry of an object after its commit returned err. The resource is that of a kind with a
// Lifetime. After an error other than a conflict, the object may have been written.
func (e *Expiry) Schedule(resource schema.GroupResource, o *object.Object, err error) {
	switch q := e.queues[resource]; {
	case err == nil:
		q.add(o.Key, o.Revision)
	case !store.IsConflict(err):
		q.add(o.Key, 0)
	}
}

// Stop stops the timers. The caller has called Tasks.Cancel; Tasks.Wait waits for a run in progress.
func (e *Expiry) Stop() {
	for _, q := range e.queues {
		q.stop()
	}
}
