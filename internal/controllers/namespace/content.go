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
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/discovery"
)

// pass is one attempt to delete the content of a terminating namespace, of all kinds.
type pass struct {
	client     *client.Client
	namespaces client.Resource[*corev1.Namespace]
	// namespace is the terminating namespace as last observed, in the cache or on the server.
	namespace *corev1.Namespace
	left      remaining
	// unserved are resources that discovery listed but that turned out not to be served.
	unserved []discovery.Resource
	// stale reports that the cached namespace is no longer the terminating one: it was deleted, and the content of a
	// new namespace of its name must not be deleted.
	stale bool
}

// objects accesses the objects of a resource by their metadata.
type objects = client.Resource[*metav1.PartialObjectMetadata]

// delete deletes the content of the namespace and records what is left: what finalizers or grace periods
// hold, and what could not be deleted. While pods exist, it deletes nothing else.
func (p *pass) delete(ctx context.Context) {
	var found, others []discovery.Resource
	found, p.left.discovery = discovery.Resources(ctx, p.client)
	for _, resource := range found {
		if !resource.Namespaced || !resource.Serves("delete") {
			continue
		}
		if resource.GroupResource() != pods.GroupResource() {
			others = append(others, resource)
			continue
		}
		if p.clear(ctx, resource) {
			p.deleteOnMissingNodes(ctx, resource)
		}
	}
	if p.left.hasObjects() || p.left.deletion != nil {
		return
	}
	for _, resource := range others {
		if p.stale {
			return
		}
		if p.clear(ctx, resource) {
			p.count(ctx, resource)
		}
	}
}

// clear deletes the objects of one resource, and reports whether any may be left.
func (p *pass) clear(ctx context.Context, resource discovery.Resource) bool {
	all := client.Of[*metav1.PartialObjectMetadata](p.client, resource.GroupVersionResource).Uninitialized()
	if !resource.Serves("list") {
		p.addError(resource, p.deleteUnlisted(ctx, resource, all))
		return false
	}
	listed, err := p.list(ctx, resource, all)
	if err != nil || len(listed.Items) == 0 {
		p.addError(resource, errors.Join(err, checkComplete(listed)))
		return false
	}
	p.addError(resource, p.deleteListed(ctx, resource, all, listed))
	return !p.stale
}

// count records the remaining objects of a resource.
func (p *pass) count(ctx context.Context, resource discovery.Resource) {
	all := client.Of[*metav1.PartialObjectMetadata](p.client, resource.GroupVersionResource).Uninitialized()
	listed, err := p.list(ctx, resource, all)
	p.addError(resource, errors.Join(err, checkComplete(listed)))
	for _, obj := range listed.Items {
		p.left.add(resource, obj)
	}
}

// addError records an error about a resource; nil is ignored.
func (p *pass) addError(resource discovery.Resource, err error) {
	if errors.Is(err, action.ErrStaleCache) {
		p.stale = true
		return
	}
	p.left.addError(resource, err)
}

// page is a list of objects of a resource.
type page = client.Page[*metav1.PartialObjectMetadata]

// list lists the objects of a resource. The page is empty if that fails.
func (p *pass) list(ctx context.Context, resource discovery.Resource, all objects) (*page, error) {
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

// checkComplete returns an error if a list is incomplete: the namespace contains objects that the server
// cannot decode.
func checkComplete[T client.Object](listed *client.Page[T]) error {
	if listed.Incomplete {
		return client.ErrIncomplete
	}
	return nil
}

// discoveryLag is the time after a namespace's deletion during which a resource that is listed in discovery but
// not served may still have objects: a server's discovery may lag behind.
const discoveryLag = 30 * time.Second

// mayBeServedElsewhere reports whether an unserved resource may be served in another way by now, for example
// in another version. If so, the namespace may still contain objects of that resource.
func (p *pass) mayBeServedElsewhere(ctx context.Context) bool {
	if len(p.unserved) == 0 {
		return false
	}
	if time.Since(p.namespace.DeletionTimestamp.Time) < discoveryLag {
		return true
	}
	found, _ := discovery.Resources(ctx, p.client)
	return slices.ContainsFunc(p.unserved, func(r discovery.Resource) bool {
		return !slices.ContainsFunc(found, func(f discovery.Resource) bool {
			return f.GroupVersionResource == r.GroupVersionResource
		})
	})
}

// isGone reports whether a resource is not served, for example because its definition was deleted: it has no
// objects, or is served in another version.
func isGone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) }

// confirm asks the server whether the namespace is still the observed one and terminating. If so, objects listed
// before are its content, since no other namespace can have had its name in between. Objects listed later may
// belong to a successor: a stale cache may show a recreated namespace as terminating.
func (p *pass) confirm(ctx context.Context) error {
	return action.RetryIfSlow(func() error {
		live, err := p.namespaces.Get(ctx, "", p.namespace.Name)
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%w: the namespace no longer exists", action.ErrStaleCache)
		case err != nil:
			return err
		case live.UID != p.namespace.UID || !needsCleanup(live):
			return fmt.Errorf("%w: the namespace was recreated, or is not terminating", action.ErrStaleCache)
		}
		p.namespace = live
		return nil
	})
}

// deleteUnlisted deletes objects of a resource that cannot be listed, so that the controller cannot wait for them.
func (p *pass) deleteUnlisted(ctx context.Context, resource discovery.Resource, all objects) error {
	if !resource.Serves("deletecollection") {
		return nil
	}
	if err := p.confirm(ctx); err != nil {
		return err
	}
	err := all.DeleteCollection(ctx, p.namespace.Name, background(), metav1.ListOptions{})
	if isGone(err) {
		return nil
	}
	return err
}

// deleteListed deletes exactly the listed objects, even if the namespace is recreated in the meantime: by
// deletecollection at the revision of the list or, if the server does not support that, one by one with uid
// preconditions.
func (p *pass) deleteListed(ctx context.Context, resource discovery.Resource, all objects, listed *page) error {
	if err := p.confirm(ctx); err != nil {
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
		// a conflict means that the name has a new object
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// background returns the options of all deletions: owners do not wait for their dependents, which are deleted
// too.
func background() metav1.DeleteOptions {
	return metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
}
