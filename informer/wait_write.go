package informer

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
)

// WaitForWrite waits until every cache of the factory that has the written object reflects the write: the cache has
// reached the revision of the response (see Informer.WaitForRevision) and, after a deletion, no longer has the object.
// It returns an error if ctx ends first. Package controller uses it before it reconciles again.
//
// WaitForWrite does not wait for caches that are not synced yet, for writes to another server
// (FactoryOptions.Server), or for deletecollection. It waits for a cache with a label selector only if that
// has the object or the object's labels match, and for one with a field selector only if that has the object.
func (f *Factory) WaitForWrite(ctx context.Context, w client.Write) error {
	if w.Name == "" || f.options.Server != "" && w.Server != "" && f.options.Server != w.Server {
		return nil
	}
	for _, i := range f.covering(w.Resource.GroupResource(), w.Namespace) {
		if err := i.waitForWrite(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// waitForWrite implements Factory.WaitForWrite for one cache.
func (i *Informer[T]) waitForWrite(ctx context.Context, w client.Write) error {
	key := Key{Namespace: w.Namespace, Name: w.Name}
	if !i.concernsWrite(key, w) {
		return nil
	}
	if err := i.WaitForRevision(ctx, key, w.Revision); err != nil || !w.Gone {
		return err
	}
	for {
		deleted, changed := i.isDeleted(key, w.UID)
		if deleted {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the cache of %s still has %s, which was deleted: %w", i.resource.Resource, key,
				ctx.Err())
		}
	}
}

// isDeleted reports whether an object is not in the cache. If it is, the channel is closed at the next change.
func (i *Informer[T]) isDeleted(key Key, uid types.UID) (bool, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s := i.indexer.state(key); s == nil || s.uid() != uid {
		return true, nil
	}
	return false, i.updater.progress.next()
}

// concernsWrite reports whether the cache has, or will have, the written object.
func (i *Informer[T]) concernsWrite(key Key, w client.Write) bool {
	select {
	case <-i.updater.synced:
	default:
		return false
	}
	scope := i.reflect.options
	if scope.Fields == nil && scope.Labels == nil || i.indexer.state(key) != nil {
		return true
	}
	// other subresources may return the labels of another object
	sameLabels := w.Subresource == "" || w.Subresource == "status"
	return scope.Fields == nil && sameLabels && scope.Labels.Matches(labels.Set(w.Labels))
}
