package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/discovery"
)

// deletions finds objects that still have finalizers long after they were deleted, grouped by finalizer, and
// namespaces that do not terminate.
func (d *doctor) deletions(ctx context.Context) error {
	waiting := map[string][]string{}
	for _, r := range d.resources {
		if !r.Serves("list") || !r.Serves("delete") {
			continue
		}
		for obj, err := range client.Of[*metav1.PartialObjectMetadata](d.client, r.GroupVersionResource).All(ctx, "",
			metav1.ListOptions{}) {
			if isGone(err) {
				break
			}
			if err != nil {
				return fmt.Errorf("listing %s: %w", r.GroupResource(), err)
			}
			if at := obj.DeletionTimestamp; at == nil || d.now.Sub(at.Time) < d.after {
				continue
			}
			for _, finalizer := range obj.Finalizers {
				blocker := "finalizer " + finalizer
				waiting[blocker] = append(waiting[blocker],
					fmt.Sprintf("%s, deleted %s ago", nameOf(r, obj), d.elapsed(obj.DeletionTimestamp.Time)))
			}
		}
	}
	d.addByBlocker(waiting, func(string) string { return "is not removed" },
		"start the controller that added it; if it is gone for good, do its cleanup and remove the finalizer "+
			"(kubectl edit)")
	return d.namespaces(ctx)
}

// namespaces finds namespaces that do not terminate, and adds the messages of their conditions.
func (d *doctor) namespaces(ctx context.Context) error {
	for ns, err := range client.For[*corev1.Namespace](d.client).All(ctx, "", metav1.ListOptions{}) {
		if err != nil {
			return fmt.Errorf("listing namespaces: %w", err)
		}
		if ns.DeletionTimestamp == nil || d.now.Sub(ns.DeletionTimestamp.Time) < d.after {
			continue
		}
		var messages []string
		for _, c := range ns.Status.Conditions {
			if c.Status == corev1.ConditionTrue {
				messages = append(messages, c.Message)
			}
		}
		if messages == nil {
			messages = []string{"it has no conditions: is the namespace controller running?"}
		}
		d.findings = append(d.findings, finding{
			Blocker: "namespace " + ns.Name,
			Problem: fmt.Sprintf("has been terminating for %s", d.elapsed(ns.DeletionTimestamp.Time)),
			Waiting: messages,
			Help:    "its contents must be deleted first: see the finalizers, and bowline controllers",
		})
	}
	return nil
}

// nameOf returns the name of an object in the form that kubectl accepts, with its namespace.
func nameOf(r discovery.Resource, obj metav1.Object) string {
	name := r.GroupResource().String() + "/" + obj.GetName()
	if obj.GetNamespace() != "" {
		name += " in " + obj.GetNamespace()
	}
	return name
}

// partialList is a list of objects decoded only as far as their metadata and pending initializers.
type partialList struct {
	Metadata metav1.ListMeta
	Items    []struct{ Metadata partialObject }
}

type partialObject struct {
	metav1.ObjectMeta
	Initializers *struct {
		Pending []struct{ Name string }
	}
}

// initializers finds objects that wait for initializers, grouped by the first pending one. It does nothing if
// the server does not serve InitializerConfigurations.
func (d *doctor) initializers(ctx context.Context) error {
	waiting := map[string][]string{}
	if !d.serves("admissionregistration.k8s.io", "initializerconfigurations") {
		return nil
	}
	for _, r := range d.resources {
		if !r.Serves("list") || !r.Serves("create") {
			continue
		}
		err := d.eachUninitialized(ctx, r, func(obj *partialObject) {
			if d.now.Sub(obj.CreationTimestamp.Time) < d.after {
				return
			}
			blocker := "initializer " + obj.Initializers.Pending[0].Name
			waiting[blocker] = append(waiting[blocker],
				fmt.Sprintf("%s, created %s ago", nameOf(r, &obj.ObjectMeta), d.elapsed(obj.CreationTimestamp.Time)))
		})
		if err != nil && !isGone(err) {
			return fmt.Errorf("listing %s: %w", r.GroupResource(), err)
		}
	}
	d.addByBlocker(waiting, func(string) string { return "does not respond" },
		"start it; or delete its InitializerConfiguration and take its name out of metadata.initializers.pending "+
			"of these objects")
	return nil
}

// eachUninitialized calls yield for each object of a resource that has pending initializers. It lists
// metadata only, in pages.
func (d *doctor) eachUninitialized(ctx context.Context, r discovery.Resource, yield func(*partialObject)) error {
	for next := ""; ; {
		var page partialList
		data, err := d.client.REST().Get().AbsPath(pathOf(r)).
			Param("includeUninitialized", "true").Param("limit", "500").Param("continue", next).
			SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").Do(ctx).Raw()
		if err == nil {
			err = json.Unmarshal(data, &page)
		}
		if err != nil {
			return err
		}
		for i := range page.Items {
			if obj := &page.Items[i].Metadata; obj.Initializers != nil && len(obj.Initializers.Pending) > 0 {
				yield(obj)
			}
		}
		if next = page.Metadata.Continue; next == "" {
			return nil
		}
	}
}

// isGone reports whether a list failed because the resource is no longer served or cannot be listed.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

func (d *doctor) serves(group, resource string) bool {
	for _, r := range d.resources {
		if r.Group == group && r.GroupVersionResource.Resource == resource {
			return true
		}
	}
	return false
}

// pathOf returns the path under which a resource is listed in all namespaces.
func pathOf(r discovery.Resource) string {
	if r.Group == "" {
		return strings.Join([]string{"/api", r.Version, r.GroupVersionResource.Resource}, "/")
	}
	return strings.Join([]string{"/apis", r.Group, r.Version, r.GroupVersionResource.Resource}, "/")
}
