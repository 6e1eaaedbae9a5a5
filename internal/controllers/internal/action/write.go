package action

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
)

// Events describes the events that an action records on Object: one when it succeeds, one when it fails. A
// reason that is empty records no event.
type Events struct {
	Object client.Object
	// Reason and Message are those of the event on success. The message of the event on failure is
	// FailurePrefix and the error.
	Reason, Message              string
	FailureReason, FailurePrefix string
}

func (t Events) record(exec *Executor, err error) {
	switch {
	case t.Object == nil || exec.Recorder == nil:
	case err == nil && t.Reason != "":
		exec.Recorder.Normal(t.Object, t.Reason, "%s", t.Message)
	case err != nil && t.FailureReason != "":
		exec.Recorder.Warning(t.Object, t.FailureReason, "%s%v", t.FailurePrefix, err)
	}
}

// Create creates an object. Its name is derived from its owner, so if an object of that name exists and has
// the same controller, Create succeeds.
type Create[T client.Object] struct {
	Resource schema.GroupVersionResource
	Object   T
	// AcceptExisting makes Create succeed if any object of that name exists.
	AcceptExisting bool
	Events         Events
}

func (c Create[T]) String() string { return "create " + nameOf(c.Resource, c.Object) }

func (c Create[T]) Do(ctx context.Context, exec *Executor) error {
	_, err := c.Write(ctx, exec)
	return err
}

// Write creates the object and returns the server's version of it. It returns nil without an error if
// AcceptExisting applies or if the namespace is being deleted.
func (c Create[T]) Write(ctx context.Context, exec *Executor) (created T, err error) {
	created, err = client.Of[T](exec.Client, c.Resource).Create(ctx, c.Object, metav1.CreateOptions{})
	var none T
	switch {
	case c.AcceptExisting && apierrors.IsAlreadyExists(err):
		return none, nil
	case apierrors.IsAlreadyExists(err):
		return c.existing(ctx, exec, err)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return none, nil // everything in the namespace will be deleted
	}
	c.Events.record(exec, err)
	return created, err
}

// existing returns the object that has the name if it has the same controller, and otherwise the error
// conflict.
func (c Create[T]) existing(ctx context.Context, exec *Executor, conflict error) (found T, err error) {
	found, err = client.Of[T](exec.Client, c.Resource).Get(ctx, c.Object.GetNamespace(), c.Object.GetName())
	if err != nil {
		return found, err
	}
	theirs, ours := metav1.GetControllerOfNoCopy(found), metav1.GetControllerOfNoCopy(c.Object)
	if ours != nil && theirs != nil && theirs.UID == ours.UID && found.GetDeletionTimestamp() == nil {
		return found, nil
	}
	c.Events.record(exec, conflict)
	return found, conflict
}

// Delete deletes an object if it has the observed UID. It succeeds if the object no longer exists, and fails
// with ErrUnserved if the kind is not served as it was, because the object may still exist.
type Delete[T client.Object] struct {
	Resource schema.GroupVersionResource
	Object   T
	// IfUnchanged makes Delete fail with ErrStaleCache if the object has changed since it was observed.
	IfUnchanged bool
	Propagation metav1.DeletionPropagation // empty for the default of the kind
	// Immediate sets a grace period of 0, for a pod that no node runs.
	Immediate bool
	Events    Events
}

func (d Delete[T]) String() string { return "delete " + nameOf(d.Resource, d.Object) }

func (d Delete[T]) Do(ctx context.Context, exec *Executor) error {
	uid := d.Object.GetUID()
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if d.IfUnchanged {
		revision := d.Object.GetResourceVersion()
		options.Preconditions.ResourceVersion = &revision
	}
	if d.Immediate {
		options.GracePeriodSeconds = new(int64)
	}
	if d.Propagation != "" {
		options.PropagationPolicy = &d.Propagation
	}
	name := d.Object.GetName()
	err := ClassifyNotFound(client.Of[T](exec.Client, d.Resource).Delete(ctx, d.Object.GetNamespace(), name, options),
		d.Resource, name)
	if IsGone(err) || apierrors.IsConflict(err) && !d.IfUnchanged {
		return nil // it no longer exists, or another object has its name
	}
	if apierrors.IsConflict(err) { // not a failure to report in an event
		return fmt.Errorf("%w: %w", ErrStaleCache, err)
	}
	d.Events.record(exec, err)
	return err
}

// Update replaces an object or a subresource of it, unless it has changed since it was observed. If the
// object of a status update no longer exists, Executor.Do skips the remaining actions. Update fails with
// ErrUnserved if the kind is not served as it was.
type Update[T client.Object] struct {
	Resource    schema.GroupVersionResource
	Object      T
	Subresource string
	Events      Events
}

func (u Update[T]) String() string {
	return strings.Join(strings.Fields("update "+u.Subresource+" "+nameOf(u.Resource, u.Object)), " ")
}

func (u Update[T]) Do(ctx context.Context, exec *Executor) error {
	_, err := u.Write(ctx, exec)
	return err
}

// Write updates the object and returns the server's version of it.
func (u Update[T]) Write(ctx context.Context, exec *Executor) (updated T, err error) {
	u.Object.SetManagedFields(nil)
	updated, err = client.Of[T](exec.Client, u.Resource).UpdateSubresource(ctx, u.Subresource, u.Object,
		metav1.UpdateOptions{})
	if err = ClassifyNotFound(err, u.Resource, u.Object.GetName()); IsGone(err) && u.Subresource == "status" {
		return updated, fmt.Errorf("%s: %w", u, errGone)
	}
	u.Events.record(exec, err)
	return updated, err
}

// Patch patches an object if it has the observed UID, which the body of the merge patch or strategic merge
// patch must contain. It succeeds if the object no longer exists, and fails with ErrUnserved if the kind is
// not served as it was.
type Patch[T client.Object] struct {
	Resource    schema.GroupVersionResource
	Object      T
	Subresource string
	Type        types.PatchType
	Body        []byte
	// Verb describes the patch in String, such as "adopt".
	Verb string
}

func (p Patch[T]) String() string { return p.Verb + " " + nameOf(p.Resource, p.Object) }

func (p Patch[T]) Do(ctx context.Context, exec *Executor) error {
	name := p.Object.GetName()
	in := client.Of[T](exec.Client, p.Resource)
	_, err := in.Patch(ctx, p.Object.GetNamespace(), name, p.Subresource, p.Type, p.Body, metav1.PatchOptions{})
	if err = ClassifyNotFound(err, p.Resource, name); IsGone(err) {
		return nil
	}
	return err
}

// Event records an event.
type Event struct {
	Object          client.Object
	Warning         bool
	Reason, Message string
}

func (e Event) String() string {
	return fmt.Sprintf("event %s on %s: %s", e.Reason, e.Object.GetName(), e.Message)
}

func (e Event) Do(_ context.Context, exec *Executor) error {
	record := exec.Recorder.Normal
	if e.Warning {
		record = exec.Recorder.Warning
	}
	record(e.Object, e.Reason, "%s", e.Message)
	return nil
}

// nameOf returns an object's resource and name in the form that kubectl prints.
func nameOf(in schema.GroupVersionResource, obj client.Object) string {
	resource := strings.TrimSuffix(in.Resource, "s")
	return resource + "/" + obj.GetName()
}
