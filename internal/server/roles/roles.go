/*
Package roles authorizes requests by the stored roles and bindings of rbac.authorization.k8s.io. Package bowline adds it
to the authorizers of a plane.

	store -- events of four resources --> Authorizer.newest -- rbac.Editor --> rbac.Index --> Authorize

The index is brought up to date by the requests that need it, before they are decided, and not in the background: a
request sees each write that was acknowledged before it. Requests of system:masters need no index, because another
authorizer allows them first.
*/
package roles

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/internal/auth"
	"github.com/bowline-dev/bowline/internal/auth/rbac"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/stored"
	"github.com/bowline-dev/bowline/internal/store"
)

// resources are those of the objects in the index. The positions have no meaning.
var resources = [...]schema.GroupResource{
	rbacv1.Resource("roles"), rbacv1.Resource("rolebindings"),
	rbacv1.Resource("clusterroles"), rbacv1.Resource("clusterrolebindings"),
}

// Authorizer implements auth.Authorizer and auth.RuleLister. It is safe for concurrent use. It needs no Close, because
// it has no goroutine, and its watches end with the store.
type Authorizer struct {
	store *store.Store
	kinds *kind.Registry
	log   *slog.Logger

	// current is the index at the revision at, or at a newer one.
	current atomic.Pointer[rbac.Index]
	at      atomic.Uint64

	mu      sync.Mutex // guards what follows, and serializes changes of current and at
	watches []*store.Watch
	// pending are events after the revision of the index.
	pending []*object.Event
}

// New returns an Authorizer of the roles in a store. It reads nothing before the first call of a method.
func New(s *store.Store, kinds *kind.Registry, log *slog.Logger) *Authorizer {
	return &Authorizer{store: s, kinds: kinds, log: log}
}

// Authorize implements auth.Authorizer.
func (z *Authorizer) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, string, error) {
	index, err := z.newest()
	if err != nil {
		return auth.NoOpinion, "", err
	}
	return index.Authorize(ctx, a)
}

// RulesFor implements auth.RuleLister.
func (z *Authorizer) RulesFor(ctx context.Context, user *auth.User, namespace string) (auth.Rules, error) {
	index, err := z.newest()
	if err != nil {
		return auth.Rules{Incomplete: true}, err
	}
	return index.RulesFor(ctx, user, namespace)
}

// loadTries is how often the objects are read if the store drops the history after the snapshot meanwhile.
const loadTries = 3

// newest returns the index of the published state, or of a newer one.
func (z *Authorizer) newest() (*rbac.Index, error) {
	needed := z.store.Current()
	if uint64(needed) <= z.at.Load() {
		if index := z.current.Load(); index != nil {
			return index, nil
		}
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	if index := z.current.Load(); index != nil && uint64(needed) <= z.at.Load() { // another request has updated it
		return index, nil
	}
	var err error
	if z.watches != nil {
		if err = z.follow(); err == nil {
			return z.current.Load(), nil
		}
	}
	if z.watches == nil || errors.Is(err, store.ErrSlow) {
		var compacted *store.CompactedError
		for range loadTries {
			if err = z.load(needed); !errors.As(err, &compacted) {
				break
			}
		}
	}
	return z.current.Load(), err
}

// follow applies the events since the last call, up to the oldest revision that all watches have reached. Later events
// wait for the next call: the watches are read one after the other, and the index must be a state that the store had. A
// binding must not meet rules that its role had only before or after the life of the binding.
func (z *Authorizer) follow() error {
	reached := object.Revision(math.MaxUint64)
	for _, w := range z.watches {
		events, err := w.Take(math.MaxInt)
		if err != nil {
			return err
		}
		z.pending = append(z.pending, events...)
		reached = min(reached, w.Revision())
	}
	if len(z.pending) > 0 {
		slices.SortStableFunc(z.pending, func(a, b *object.Event) int {
			return cmp.Compare(a.Revision(), b.Revision())
		})
		n, _ := slices.BinarySearchFunc(z.pending, reached+1, func(e *object.Event, r object.Revision) int {
			return cmp.Compare(e.Revision(), r)
		})
		editor := z.current.Load().Edit()
		for _, e := range z.pending[:n] {
			z.apply(editor, e.Object, e.Deleted)
		}
		z.pending = slices.Clone(z.pending[n:])
		z.current.Store(editor.Index())
	}
	z.at.Store(uint64(reached))
	return nil
}

// load reads all objects of a snapshot at a revision or later, and follows what comes after it.
func (z *Authorizer) load(needed object.Revision) error {
	for _, w := range z.watches {
		w.Stop()
	}
	z.watches, z.pending = nil, nil
	z.current.Store(nil)
	snapshot, err := z.store.Snapshot(context.Background(), store.AtLeast(needed)) // never waits
	if err != nil {
		return err
	}
	var watches []*store.Watch
	editor := new(rbac.Index).Edit()
	for _, resource := range resources {
		w, err := z.store.Watch(object.Prefix(resource, ""), snapshot.Revision())
		if err != nil {
			for _, w := range watches {
				w.Stop()
			}
			return err
		}
		watches = append(watches, w)
		snapshot.Scan(object.Prefix(resource, ""), "", func(o *object.Object) bool {
			z.apply(editor, o, false)
			return true
		})
	}
	z.watches = watches
	z.current.Store(editor.Index())
	z.at.Store(uint64(snapshot.Revision()))
	return nil
}

// apply changes the index for one object. An object that cannot be read, or that initializers have not finished, grants
// nothing.
func (z *Authorizer) apply(editor *rbac.Editor, o *object.Object, deleted bool) {
	resource, namespace, name := o.Key.GroupResource(), o.Key.Namespace(), o.Key.Name()
	var obj any
	if !deleted && !o.Uninitialized() {
		if k, served := z.kinds.Stored(resource); served {
			decoded, err := stored.Shared(kind.CodecOf(k), o)
			if err != nil {
				z.log.Error("a role or binding cannot be read, and grants nothing", "key", o.Key, "error", err)
			} else {
				obj = decoded
			}
		}
	}
	switch obj := obj.(type) {
	case *rbacv1.Role:
		editor.SetRole(obj)
	case *rbacv1.ClusterRole:
		editor.SetClusterRole(obj)
	case *rbacv1.RoleBinding:
		editor.SetRoleBinding(obj)
	case *rbacv1.ClusterRoleBinding:
		editor.SetClusterRoleBinding(obj)
	default: // removed, or not of a built-in kind
		if resource.Resource == "roles" || resource.Resource == "clusterroles" {
			editor.RemoveRole(namespace, name)
		} else {
			editor.RemoveBinding(namespace, name)
		}
	}
}
