package stored

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/admission"
	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
	"github.com/bowline-dev/bowline/internal/server/status"
	"github.com/bowline-dev/bowline/internal/store"
)

// Reader is the store as plugins and rules see it. Get and List leave out objects that initializers have not finished,
// except that Get returns such a namespace: initializers may create objects in it.
type Reader struct {
	store *store.Store
	kinds *kind.Registry
	// watches notify plugins of changes. Each resource that a plugin tracks has a watch, which lives as long as the
	// store.
	mu      sync.Mutex
	watches map[schema.GroupResource]*store.Watch
}

var (
	_ admission.Reader   = (*Reader)(nil)
	_ admission.Follower = (*Reader)(nil)
)

// NewReader returns a reader of a store.
func NewReader(s *store.Store, kinds *kind.Registry) *Reader {
	return &Reader{store: s, kinds: kinds, watches: map[schema.GroupResource]*store.Watch{}}
}

// fewObjects is how many objects List reads without a snapshot. Plugins list the quotas, limit ranges or classes that
// apply to a write, which are few, for each write.
const fewObjects = 64

// Get implements admission.Reader.
func (r *Reader) Get(_ context.Context, resource schema.GroupResource, namespace, name string) (kind.Object, error) {
	k, served := r.kinds.Stored(resource)
	o := r.store.Get(object.KeyOf(resource, namespace, name))
	if o == nil {
		if err := r.store.Damage(object.KeyOf(resource, namespace, name)); err != nil {
			return nil, status.Error(err)
		}
		return nil, nil
	}
	if !served || o.Uninitialized() && resource != Namespaces {
		return nil, nil
	}
	return Shared(kind.CodecOf(k), o)
}

// List implements admission.Reader.
func (r *Reader) List(ctx context.Context, resource schema.GroupResource, namespace string,
	yield func(kind.Object) bool) error {
	k, served := r.kinds.Stored(resource)
	if !served {
		return nil
	}
	codec, prefix := kind.CodecOf(k), object.Prefix(resource, namespace)
	var err error
	decoded := func(o *object.Object) bool {
		if o.Uninitialized() {
			return true
		}
		var obj kind.Object
		if obj, err = Shared(codec, o); err != nil {
			return false
		}
		return yield(obj)
	}
	few, found, failure := r.store.Few(ctx, prefix, fewObjects)
	switch {
	case failure != nil:
		return failure
	case found:
		for _, o := range few {
			if !decoded(o) {
				break
			}
		}
		return err
	}
	snapshot, failure := r.store.Snapshot(ctx, store.Latest())
	if failure != nil {
		return failure
	}
	snapshot.Scan(prefix, "", decoded)
	return err
}

// Changes implements admission.Follower.
func (r *Reader) Changes(resource schema.GroupResource) (<-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.watches[resource]; w != nil {
		if drain(w) {
			return w.Changed(), nil
		}
		w.Stop()
	}
	w, err := r.store.Watch(object.Prefix(resource, ""), r.store.Current())
	if err != nil {
		return nil, status.Error(err)
	}
	r.watches[resource] = w
	return w.Changed(), nil
}

// drain discards the events so far, and reports whether the watch is still usable: one that missed events is
// not.
func drain(w *store.Watch) bool {
	for {
		events, err := w.Take(1024)
		if err != nil {
			return false
		}
		if len(events) == 0 {
			return true
		}
	}
}
