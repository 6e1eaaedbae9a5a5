package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/resources"
)

// pass is one look through what is in a namespace that ends, of whatever kind, to delete it.
type pass struct {
	client     *client.Client
	namespaces client.Resource[*corev1.Namespace]
	// namespace is the one that ends, as it was seen last, by the cache or by the server.
	namespace *corev1.Namespace
	left      remains
	// unserved are resources that were found, and then not served.
	unserved []resources.Resource
	// behind says that it ends no more: it has gone, and what is in one of its name is none of its content.
	behind bool
}

// objects are those of a resource, of which nobody knows more.
type objects = client.Resource[*metav1.PartialObjectMetadata]

// delete deletes what is in the namespace and notes what is left: what finalizers or grace periods hold, and what could
// not be deleted. While there are pods, nothing else is deleted.
func (p *pass) delete(ctx context.Context) {
	var found, others []resources.Resource
	found, p.left.discovery = resources.Discover(ctx, p.client)
	for _, resource := range found {
		if !resource.Namespaced || !resource.Serves("delete") {
			continue
		}
		if resource.GroupResource() != pods.GroupResource() {
			others = append(others, resource)
			continue
		}
		if p.clear(ctx, resource) {
			p.deleteForsaken(ctx, resource)
		}
	}
	if p.left.any() || p.left.deletion != nil {
		return
	}
	for _, resource := range others {
		if p.behind {
			return
		}
		if p.clear(ctx, resource) {
			p.count(ctx, resource)
		}
	}
}

// clear deletes the objects of one resource, and says whether there were any that may be there still.
func (p *pass) clear(ctx context.Context, resource resources.Resource) bool {
	all := client.Of[*metav1.PartialObjectMetadata](p.client, resource.GroupVersionResource).Uninitialized()
	if !resource.Serves("list") {
		p.failed(resource, p.deleteUnseen(ctx, resource, all))
		return false
	}
	listed, err := p.list(ctx, resource, all)
	if err != nil || len(listed.Items) == 0 {
		p.failed(resource, errors.Join(err, whole(listed)))
		return false
	}
	p.failed(resource, p.deleteListed(ctx, resource, all, listed))
	return !p.behind
}

// count notes what there is of a resource.
func (p *pass) count(ctx context.Context, resource resources.Resource) {
	all := client.Of[*metav1.PartialObjectMetadata](p.client, resource.GroupVersionResource).Uninitialized()
	listed, err := p.list(ctx, resource, all)
	p.failed(resource, errors.Join(err, whole(listed)))
	for _, obj := range listed.Items {
		p.left.add(resource, obj)
	}
}

// failed notes what went wrong with a resource, unless nothing did.
func (p *pass) failed(resource resources.Resource, err error) {
	if errors.Is(err, action.ErrBehind) {
		p.behind = true
		return
	}
	p.left.failed(resource, err)
}

// page is a list of what is there of a resource.
type page = client.Page[*metav1.PartialObjectMetadata]

// list reads what is there of a resource. The page is empty where that fails.
func (p *pass) list(ctx context.Context, resource resources.Resource, all objects) (*page, error) {
	listed, err := all.List(ctx, p.namespace.Name, metav1.ListOptions{})
	if isGone(err) {
		if apierrors.IsNotFound(err) {
			p.unserved = append(p.unserved, resource)
		}
		return &page{}, nil
	}
	if err != nil {
		return &page{}, err
	}
	return listed, nil
}

// whole is an error for a list that is not all that there is: what the server cannot read is in the namespace all the same.
func whole[T client.Object](listed *client.Page[T]) error {
	if listed.Incomplete {
		return client.ErrIncomplete
	}
	return nil
}

// unsettled is how long after the deletion of a namespace it is not believed that a resource which is found and not served has no
// objects: servers may be slow to tell what they serve.
const unsettled = 30 * time.Second

// moved says whether what was found may be served in another way by now, as in another version: nobody knows then whether
// something of it is left.
func (p *pass) moved(ctx context.Context) bool {
	if len(p.unserved) == 0 {
		return false
	}
	if time.Since(p.namespace.DeletionTimestamp.Time) < unsettled {
		return true
	}
	found, _ := resources.Discover(ctx, p.client)
	return slices.ContainsFunc(p.unserved, func(r resources.Resource) bool {
		return !slices.ContainsFunc(found, func(f resources.Resource) bool { return f.GroupVersionResource == r.GroupVersionResource })
	})
}

// isGone says that a resource is not served any more, as when its definition was deleted meanwhile: it has no objects, or has
// moved.
func isGone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) }

// sure asks the server whether the namespace is the one that was seen, and ends. What was listed before is its content then,
// since nobody else has had its name in between. What is listed later may be another's: a cache that is late shows a namespace
// as ending that was made again since.
func (p *pass) sure(ctx context.Context) error {
	return action.Soon(func() error {
		live, err := p.namespaces.Get(ctx, "", p.namespace.Name)
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%w: the namespace is gone", action.ErrBehind)
		case err != nil:
			return err
		case live.UID != p.namespace.UID || !isOurs(live):
			return fmt.Errorf("%w: the namespace is another one, or ends no more", action.ErrBehind)
		}
		p.namespace = live
		return nil
	})
}

// deleteUnseen deletes objects that cannot be listed, and so cannot be waited for.
func (p *pass) deleteUnseen(ctx context.Context, resource resources.Resource, all objects) error {
	if !resource.Serves("deletecollection") {
		return nil
	}
	if err := p.sure(ctx); err != nil {
		return err
	}
	err := all.DeleteCollection(ctx, p.namespace.Name, background(), metav1.ListOptions{})
	if isGone(err) {
		return nil
	}
	return err
}

// deleteListed deletes what was listed and nothing else, whoever has the namespace's name by then: together, as it was at the
// revision of the list, or one after the other, by their uids, where the server cannot do that.
func (p *pass) deleteListed(ctx context.Context, resource resources.Resource, all objects, listed *page) error {
	if err := p.sure(ctx); err != nil {
		return err
	}
	if at := listed.ResourceVersion; resource.Serves("deletecollection") && at != "" && at != "0" {
		exactly := metav1.ListOptions{ResourceVersion: at, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
		err := all.DeleteCollection(ctx, p.namespace.Name, background(), exactly)
		if isGone(err) {
			return nil
		}
		if !apierrors.IsResourceExpired(err) {
			return err
		}
	}
	for _, obj := range listed.Items {
		options := background()
		options.Preconditions = metav1.NewUIDPreconditions(string(obj.UID))
		err := all.Delete(ctx, p.namespace.Name, obj.Name, options)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // a conflict is over another one of its name
			return err
		}
	}
	return nil
}

// background is how everything is deleted: an owner does not wait for what it owns, which is deleted too.
func background() metav1.DeleteOptions {
	return metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
}
