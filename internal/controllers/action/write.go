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

// Tell is the events of an action: what is told about an object when it has succeeded, and when not. The zero value tells
// nothing.
type Tell struct {
	About client.Object
	// Reason and Message of success, and those of a failure, whose message the error follows.
	Reason, Message             string
	FailureReason, FailureBegin string
}

func (t Tell) tell(by *Hand, err error) {
	switch {
	case t.About == nil || by.Events == nil:
	case err == nil && t.Reason != "":
		by.Events.Normal(t.About, t.Reason, "%s", t.Message)
	case err != nil && t.FailureReason != "":
		by.Events.Warning(t.About, t.FailureReason, "%s%v", t.FailureBegin, err)
	}
}

// Create makes an object under a name that follows from its owner, so that to find one there that the same owner controls
// means that it has been made already.
type Create[T client.Object] struct {
	In     schema.GroupVersionResource
	Object T
	// Anybodys says that one which is there will do, whoever has made it.
	Anybodys bool
	Tell     Tell
}

func (c Create[T]) String() string { return "create " + nameOf(c.In, c.Object) }

func (c Create[T]) Do(ctx context.Context, by *Hand) error {
	_, err := c.Make(ctx, by)
	return err
}

// Make does it, and returns the object as the server has it; nil when it is anybody's, or will not be, since its namespace ends.
func (c Create[T]) Make(ctx context.Context, by *Hand) (made T, err error) {
	made, err = client.Of[T](by.Client, c.In).Create(ctx, c.Object, metav1.CreateOptions{})
	var none T
	switch {
	case c.Anybodys && apierrors.IsAlreadyExists(err):
		return none, nil
	case apierrors.IsAlreadyExists(err):
		return c.there(ctx, by, err)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return none, nil // and everything in the namespace will go
	}
	c.Tell.tell(by, err)
	return made, err
}

// there looks whose object has the name.
func (c Create[T]) there(ctx context.Context, by *Hand, exists error) (there T, err error) {
	there, err = client.Of[T](by.Client, c.In).Get(ctx, c.Object.GetNamespace(), c.Object.GetName())
	if err != nil {
		return there, err
	}
	theirs, ours := metav1.GetControllerOfNoCopy(there), metav1.GetControllerOfNoCopy(c.Object)
	if ours != nil && theirs != nil && theirs.UID == ours.UID && there.GetDeletionTimestamp() == nil {
		return there, nil
	}
	c.Tell.tell(by, exists)
	return there, exists
}

// Delete deletes an object if it is still the one that was seen, by its uid. Where it is gone, that is done; where its kind is
// not served any more as it was, nobody knows, and it fails with ErrUnserved.
type Delete[T client.Object] struct {
	In     schema.GroupVersionResource
	Object T
	// Unchanged says that it must not have been changed either: then it fails with ErrBehind.
	Unchanged   bool
	Propagation metav1.DeletionPropagation // empty is the kind's default
	// AtOnce gives nobody time to end, as for what nobody runs any more.
	AtOnce bool
	Tell   Tell
}

func (d Delete[T]) String() string { return "delete " + nameOf(d.In, d.Object) }

func (d Delete[T]) Do(ctx context.Context, by *Hand) error {
	uid := d.Object.GetUID()
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if d.Unchanged {
		revision := d.Object.GetResourceVersion()
		options.Preconditions.ResourceVersion = &revision
	}
	if d.AtOnce {
		options.GracePeriodSeconds = new(int64)
	}
	if d.Propagation != "" {
		options.PropagationPolicy = &d.Propagation
	}
	name := d.Object.GetName()
	err := Unserved(client.Of[T](by.Client, d.In).Delete(ctx, d.Object.GetNamespace(), name, options), d.In, name)
	if IsGone(err) || apierrors.IsConflict(err) && !d.Unchanged {
		return nil // it is gone, or another one has its name
	}
	if apierrors.IsConflict(err) { // which is no failure that anybody should hear of
		return fmt.Errorf("%w: %w", ErrBehind, err)
	}
	d.Tell.tell(by, err)
	return err
}

// Update replaces an object, or a subresource of it, if nobody has changed it since it was seen. What has gone needs no status,
// and nothing that stands after it in a list; where its kind is not served any more as it was, nobody knows, and it fails with
// ErrUnserved.
type Update[T client.Object] struct {
	In          schema.GroupVersionResource
	Object      T
	Subresource string
	Tell        Tell
}

func (u Update[T]) String() string {
	return strings.Join(strings.Fields("update "+u.Subresource+" "+nameOf(u.In, u.Object)), " ")
}

func (u Update[T]) Do(ctx context.Context, by *Hand) error {
	_, err := u.Make(ctx, by)
	return err
}

// Make does it, and returns the object as the server has it.
func (u Update[T]) Make(ctx context.Context, by *Hand) (made T, err error) {
	u.Object.SetManagedFields(nil)
	made, err = client.Of[T](by.Client, u.In).UpdateSubresource(ctx, u.Subresource, u.Object, metav1.UpdateOptions{})
	if err = Unserved(err, u.In, u.Object.GetName()); IsGone(err) && u.Subresource == "status" {
		return made, fmt.Errorf("%s: %w", u, errGone)
	}
	u.Tell.tell(by, err)
	return made, err
}

// Patch changes parts of an object if it is still the one that was seen: the merge patch, or strategic merge patch, has its uid.
// What has gone needs no change; where its kind is not served any more as it was, nobody knows, and it fails with ErrUnserved.
type Patch[T client.Object] struct {
	In          schema.GroupVersionResource
	Object      T
	Subresource string
	Type        types.PatchType
	Body        []byte
	// Does is what it is for, such as "adopt".
	Does string
}

func (p Patch[T]) String() string { return p.Does + " " + nameOf(p.In, p.Object) }

func (p Patch[T]) Do(ctx context.Context, by *Hand) error {
	name := p.Object.GetName()
	in := client.Of[T](by.Client, p.In)
	_, err := in.Patch(ctx, p.Object.GetNamespace(), name, p.Subresource, p.Type, p.Body, metav1.PatchOptions{})
	if err = Unserved(err, p.In, name); IsGone(err) {
		return nil
	}
	return err
}

// Event only tells something.
type Event struct {
	About           client.Object
	Warning         bool
	Reason, Message string
}

func (e Event) String() string {
	return fmt.Sprintf("tell %s of %s: %s", e.Reason, e.About.GetName(), e.Message)
}

func (e Event) Do(_ context.Context, by *Hand) error {
	tell := by.Events.Normal
	if e.Warning {
		tell = by.Events.Warning
	}
	tell(e.About, e.Reason, "%s", e.Message)
	return nil
}

// nameOf is an object as kubectl takes it.
func nameOf(in schema.GroupVersionResource, obj client.Object) string {
	resource := strings.TrimSuffix(in.Resource, "s")
	return resource + "/" + obj.GetName()
}
