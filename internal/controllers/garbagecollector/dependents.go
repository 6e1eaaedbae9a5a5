package garbagecollector

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	revisions "github.com/bowline-dev/bowline/internal/object"
)

// mayDepend returns the caches that may hold dependents of obj. The dependents of a namespaced object are in
// its namespace.
func (g *graph) mayDepend(obj object) (caches []*cache) {
	for _, c := range g.all() {
		if c.Namespaced || obj.Namespace == "" {
			caches = append(caches, c)
		}
	}
	return caches
}

// dependents returns the cached dependents of obj. It fails while a cache is being filled, for at most
// maxWait.
func (ob *observer) dependents(obj object) (all []dependent, err error) {
	for _, c := range ob.graph.mayDepend(obj) {
		if !c.synced() && time.Since(c.since) < maxWait {
			return nil, fmt.Errorf("dependents of kind %s are unknown: they are not listed yet", c.GroupResource())
		}
		all = slices.AppendSeq(all, c.allDependents(obj))
	}
	return all, nil
}

// orphans returns the dependents that obj leaves behind. The result must be complete: a missed dependent
// would later be deleted because its owner is gone. Only for a kind of another server, which could not be listed for
// longer than maxWait, orphans returns what its cache has: nobody may be able to mend that server, and Kubernetes
// trusts the cache as well.
func (ob *observer) orphans(ctx context.Context, obj cached) (all []dependent, err error) {
	wanted := ob.wanted(obj)
	for _, c := range ob.graph.mayDepend(obj.object) {
		found, err := ob.listDependents(ctx, c, obj.object, wanted)
		if err != nil && (c.failures.length() < maxWait || !ob.graph.isRemote(c)) {
			return nil, err
		} else if err != nil {
			found = slices.Collect(c.allDependents(obj.object))
		}
		all = append(all, found...)
	}
	return all, nil
}

// blockers returns dependents that the deletion of obj waits for. One that is not itself waiting suffices. If
// all of them wait, cycle reports whether they wait for obj. Before it returns none, blockers checks with
// the server, except for kinds that could not be listed for longer than maxWait.
func (ob *observer) blockers(ctx context.Context, obj cached) (found []dependent, cycle bool, err error) {
	caches := ob.graph.mayDepend(obj.object)
	for _, c := range caches {
		for d := range c.dependents(obj.object) {
			switch candidate := (dependent{location{c.GroupVersionResource}, d}); {
			case !blocks(d, obj.UID):
			case !waitsForDependents(d):
				return []dependent{candidate}, false, nil
			default:
				found = append(found, candidate)
			}
		}
	}
	if len(found) > 0 {
		return found, ob.isCycle(found, obj.UID), nil
	}
	wanted := ob.wanted(obj)
	for _, c := range caches {
		listed, err := ob.listDependents(ctx, c, obj.object, wanted)
		if err != nil && c.failures.length() < maxWait {
			return nil, false, err
		}
		found = append(found, listed...)
	}
	return found, false, nil
}

// maxSearched limits the search for a cycle of waiting owners. A larger cycle is found after some of its
// objects are gone.
const maxSearched = 1000

// isCycle reports whether any of the waiting objects waits, directly or through others, for the object with
// uid.
func (ob *observer) isCycle(waiting []dependent, uid types.UID) bool {
	visited := map[types.UID]bool{}
	for len(waiting) > 0 && len(visited) < maxSearched {
		last := waiting[len(waiting)-1].object
		waiting = waiting[:len(waiting)-1]
		if last.UID == uid {
			return true
		}
		if visited[last.UID] {
			continue
		}
		visited[last.UID] = true
		for _, d := range ob.graph.dependentsOf(last.UID) {
			if waitsForDependents(d.object) && blocks(d.object, last.UID) {
				waiting = append(waiting, dependent{object: d.object})
			}
		}
	}
	return false
}

// listDependents returns the dependents of obj, which is being deleted, in one resource: from the cache if that covers
// the wanted moment, or else from the server. It records failures in the cache's failure streak.
func (ob *observer) listDependents(ctx context.Context, c *cache, obj object,
	wanted moment) (found []dependent, err error) {
	if err := c.startListing(ctx); err != nil {
		return nil, err
	}
	defer func() { <-c.listing }()
	if ob.covers(c, obj.Namespace, wanted) {
		c.failures.note(nil, c.objects.Revision())
		return slices.Collect(c.allDependents(obj)), nil
	}
	if err := c.failures.postponed(c.objects.Revision()); err != nil {
		return nil, err
	}
	c.failures.begin()
	defer func() { c.failures.note(err, c.objects.Revision()) }()
	return ob.listFromServer(ctx, c, obj, wanted)
}

// startListing waits until no concurrent caller lists c, which may make another list unnecessary. While lists of c are
// postponed, it fails instead of waiting for the one that tries again.
func (c *cache) startListing(ctx context.Context) error {
	select {
	case c.listing <- struct{}{}:
		return nil
	default:
	}
	if err := c.failures.postponed(c.objects.Revision()); err != nil {
		return err
	}
	select {
	case c.listing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxSilence limits how long a list waits for the next page.
const maxSilence = 10 * time.Second

var errSilent = errors.New("the server has not answered for " + maxSilence.String())

// listFromServer lists the dependents of obj in one resource. The caller holds c.listing.
func (ob *observer) listFromServer(ctx context.Context, c *cache, obj object,
	wanted moment) (found []dependent, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(maxSilence, func() { cancel(errSilent) })
	defer timer.Stop()
	newest, last := ob.newest(wanted.store), revisions.Revision(0)
	all := client.Of[object](ob.graph.client, c.GroupVersionResource).Uninitialized()
	for d, err := range all.All(ctx, obj.Namespace, metav1.ListOptions{}) {
		if err != nil {
			// the objects of this kind are unknown, and there may be some
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				ob.graph.queue.Add(discoverRequest)
			}
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return nil, fmt.Errorf("listing the dependents of kind %s: %w", c.GroupResource(), err)
		}
		timer.Reset(maxSilence)
		if refersTo(d, obj.UID) {
			found = append(found, dependent{location{c.GroupVersionResource}, d})
		}
		if revision, err := revisions.ParseRevision(d.ResourceVersion); err == nil {
			last = max(last, revision)
		}
	}
	if c.synced() && c.objects.Revision() >= last {
		c.covered = coverage{obj.Namespace, newest}
	}
	return found, nil
}

// synced reports whether the cache has completed its first list.
func (c *cache) synced() bool {
	select {
	case <-c.objects.Synced():
		return true
	default:
		return false
	}
}

// dependents returns the cached objects that have obj as an owner and are in a namespace where obj can be
// one.
func (c *cache) dependents(obj object) iter.Seq[object] {
	return func(yield func(object) bool) {
		for d := range c.objects.Indexer().Each("owner", string(obj.UID)) {
			if (d.Namespace == obj.Namespace || obj.Namespace == "") && !yield(d) {
				return
			}
		}
	}
}

// allDependents is like dependents, with the resource of each.
func (c *cache) allDependents(obj object) iter.Seq[dependent] {
	return func(yield func(dependent) bool) {
		for d := range c.dependents(obj) {
			if !yield(dependent{location{c.GroupVersionResource}, d}) {
				return
			}
		}
	}
}

// refersTo reports whether obj has an owner reference to uid.
func refersTo(obj object, uid types.UID) bool {
	for _, r := range obj.OwnerReferences {
		if r.UID == uid {
			return true
		}
	}
	return false
}

// blocks reports whether a foreground deletion of the owner with uid waits for obj.
func blocks(obj object, uid types.UID) bool {
	for _, r := range obj.OwnerReferences {
		if r.UID == uid && isBlocking(r) {
			return true
		}
	}
	return false
}
