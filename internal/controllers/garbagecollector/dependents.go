package garbagecollector

import (
	"context"
	"fmt"
	"iter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	revisions "github.com/bowline-dev/bowline/object"
)

// mayDepend are the caches of what may depend on an object: what is in a namespace has dependents nowhere but there.
func (g *graph) mayDepend(obj object) (caches []*cache) {
	for _, c := range g.all() {
		if c.Namespaced || obj.Namespace == "" {
			caches = append(caches, c)
		}
	}
	return caches
}

// dependents are those that caches show of an object. A cache that cannot be filled is waited for no longer than patience.
func (g *graph) dependents(obj object) (all []dependent, err error) {
	for _, c := range g.mayDepend(obj) {
		if !c.filled() && time.Since(c.since) < patience {
			return nil, fmt.Errorf("nobody knows yet which %s depend on it: they are not listed", c.GroupResource())
		}
		for d := range c.dependents(obj) {
			all = append(all, dependent{place{c.GroupVersionResource}, d})
		}
	}
	return all, nil
}

// orphans are those that an orphaner leaves behind. It must not miss one, which would be taken for one whose owner has gone.
func (g *graph) orphans(ctx context.Context, obj cached) (all []dependent, err error) {
	wanted := g.wanted(obj)
	for _, c := range g.mayDepend(obj.object) {
		found, err := g.ask(ctx, c, obj.object, wanted)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// blockers are those that an object waits for. One is enough, where it does not wait itself: of those who do it is asked whether
// it is for this object, in a circle. None are left only if the server has none either, but where nobody has been able to find
// out of a kind for as long as patience.
func (g *graph) blockers(ctx context.Context, obj cached) (found []dependent, circle bool, err error) {
	caches := g.mayDepend(obj.object)
	for _, c := range caches {
		for d := range c.dependents(obj.object) {
			switch one := (dependent{place{c.GroupVersionResource}, d}); {
			case !blocks(d, obj.UID):
			case !waits(d):
				return []dependent{one}, false, nil
			default:
				found = append(found, one)
			}
		}
	}
	if len(found) > 0 {
		return found, g.isCircle(found, obj.UID), nil
	}
	wanted := g.wanted(obj)
	for _, c := range caches {
		asked, err := g.ask(ctx, c, obj.object, wanted)
		if err != nil && c.lapse.length() < patience {
			return nil, false, err
		}
		found = append(found, asked...)
	}
	return found, false, nil
}

// mostSearched is how many objects are looked at at most for a circle. Where there are more, it is found when some have gone.
const mostSearched = 1000

// isCircle says whether one of those that wait waits, by others, for an object.
func (g *graph) isCircle(waiting []dependent, uid types.UID) bool {
	seen := map[types.UID]bool{}
	for len(waiting) > 0 && len(seen) < mostSearched {
		last := waiting[len(waiting)-1].object
		waiting = waiting[:len(waiting)-1]
		if last.UID == uid {
			return true
		}
		if seen[last.UID] {
			continue
		}
		seen[last.UID] = true
		for _, d := range g.dependentsOf(last.UID) {
			if waits(d.object) && blocks(d.object, last.UID) {
				waiting = append(waiting, dependent{object: d.object})
			}
		}
	}
	return false
}

// ask finds the dependents of an object that is being deleted: in a cache, if that shows all that there was at the moment that is
// wanted, or else at the server. The cache's lapse is how long nobody has been able to.
func (g *graph) ask(ctx context.Context, c *cache, obj object, wanted moment) (found []dependent, err error) {
	select {
	case c.asking <- struct{}{}: // what one finds out others need not ask
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() {
		c.lapse.note(err, c.objects.Revision())
		<-c.asking
	}()
	if g.shows(c, obj.Namespace, wanted) {
		for d := range c.dependents(obj) {
			found = append(found, dependent{place{c.GroupVersionResource}, d})
		}
		return found, nil
	}
	newest, last := g.newest(wanted.store), revisions.Revision(0)
	all := client.Of[object](g.client, c.GroupVersionResource).Uninitialized()
	for d, err := range all.All(ctx, obj.Namespace, metav1.ListOptions{}) {
		if err != nil {
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) { // which does not say that nothing of it is there
				g.look.Add(everything)
			}
			return nil, fmt.Errorf("which %s depend on it: %w", c.GroupResource(), err)
		}
		if refersTo(d, obj.UID) {
			found = append(found, dependent{place{c.GroupVersionResource}, d})
		}
		if revision, err := revisions.ParseRevision(d.ResourceVersion); err == nil {
			last = max(last, revision)
		}
	}
	if c.filled() && c.objects.Revision() >= last {
		c.shown = known{obj.Namespace, newest}
	}
	return found, nil
}

// filled says whether a cache shows what there was at some time.
func (c *cache) filled() bool {
	select {
	case <-c.objects.Synced():
		return true
	default:
		return false
	}
}

// dependents are the cached objects that depend on one, where they can.
func (c *cache) dependents(obj object) iter.Seq[object] {
	return func(yield func(object) bool) {
		for d := range c.objects.Indexer().Each("owner", string(obj.UID)) {
			if (d.Namespace == obj.Namespace || obj.Namespace == "") && !yield(d) {
				return
			}
		}
	}
}

// refersTo says whether an object has an owner of a uid.
func refersTo(obj object, uid types.UID) bool {
	for _, r := range obj.OwnerReferences {
		if r.UID == uid {
			return true
		}
	}
	return false
}

// blocks says whether an owner that is deleted in the foreground waits for an object.
func blocks(obj object, uid types.UID) bool {
	for _, r := range obj.OwnerReferences {
		if r.UID == uid && isBlocking(r) {
			return true
		}
	}
	return false
}
