package informer

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
)

// Shows waits until every cache that should show what a write did does so: the revision that it was answered with, as
// Informer.Reached does, or that the object is gone. It returns an error when ctx ends before.
//
// Caches that are not filled yet are not waited for, nor is a write to another server (FactoryOptions.Server). A cache with a
// scope by labels is waited for when it has the object, or the object's labels match; one by fields only when it has the object.
// What a write of many objects (deletecollection) did is not waited for.
func (f *Factory) Shows(ctx context.Context, w client.Write) error {
	if w.Name == "" || f.options.Server != "" && w.Server != "" && f.options.Server != w.Server {
		return nil
	}
	for _, i := range f.covering(w.Resource.GroupResource(), w.Namespace) {
		if err := i.showsWrite(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// showsWrite waits until the cache shows what a write did, as Factory.Shows says.
func (i *Informer[T]) showsWrite(ctx context.Context, w client.Write) error {
	key := Key{Namespace: w.Namespace, Name: w.Name}
	if !i.concerns(key, w) {
		return nil
	}
	if err := i.Reached(ctx, key, w.Revision); err != nil || !w.Gone {
		return err
	}
	for {
		gone, changed := i.lacks(key, w.UID)
		if gone {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the cache of %s still shows %s, which was deleted: %w", i.resource.Resource, key, ctx.Err())
		}
	}
}

// lacks says whether an object is not in the cache; if it is, the channel is closed when that may have changed.
func (i *Informer[T]) lacks(key Key, uid types.UID) (bool, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s := i.indexer.state(key); s == nil || s.uid() != uid {
		return true, nil
	}
	return false, i.progress.next()
}

// concerns says whether the cache has what was written, or will.
func (i *Informer[T]) concerns(key Key, w client.Write) bool {
	select {
	case <-i.synced:
	default:
		return false
	}
	scope := i.reflect.options
	if scope.Fields == nil && scope.Labels == nil || i.indexer.state(key) != nil {
		return true
	}
	of := w.Subresource == "" || w.Subresource == "status" // else the labels may be another object's
	return scope.Fields == nil && of && scope.Labels.Matches(labels.Set(w.Labels))
}
