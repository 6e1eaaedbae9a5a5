package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/client"
	loop "github.com/bowline-dev/bowline/controller"
	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
	"github.com/bowline-dev/bowline/examples/network/provider"
)

// finalizer holds an object until its real network is gone.
const finalizer = "bowline.dev/real-network"

// Reasons of the events that a user reads under a Network, beside those of the Ready condition.
const (
	reasonCreated  = "Created"
	reasonUpdated  = "Updated"
	reasonRestored = "Restored" // somebody changed or removed the real network behind the controller's back
	reasonDeleted  = "Deleted"
)

// reconciler makes the real networks of one group's objects match. Several goroutines may use it, though never two for
// one object.
type reconciler struct {
	resource schema.GroupVersionResource
	networks client.Resource[*v1.Network]
	rest     rest.Interface
	provider provider.Provider
	events   *loop.Recorder
	log      *slog.Logger
	// said is the statement that was last made in the status of each object, by types.UID.
	said sync.Map
}

// reconcile compares one object, which it does not change, with its real network, and makes that match. An error means
// that it should be tried again.
func (r *reconciler) reconcile(ctx context.Context, n *v1.Network) error {
	if n.DeletionTimestamp != nil {
		loop.Note(ctx, "it is being deleted")
		return r.release(ctx, n)
	}
	want, err := wanted(n)
	if err != nil {
		return r.report(ctx, n, verdict{reason: v1.ReasonInvalidSpec, message: err.Error(), id: n.Status.ID})
	}
	declared, err := r.hold(ctx, n)
	if err != nil {
		return ignoreGone(err)
	}
	switch err := r.provision(ctx, n, want, declared); {
	case errors.Is(err, errGone):
		return nil // the cache will hear of it
	case err != nil:
		return r.fail(ctx, n, err)
	}
	return r.report(ctx, n, r.provisioned(want))
}

// fail reports why the provider could not do its work, unless that is only that the controller stops. It returns an error always.
func (r *reconciler) fail(ctx context.Context, n *v1.Network, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return errors.Join(err, r.report(ctx, n, failed(n, err)))
}

// provisioned is the verdict on a network that is as it should be.
func (r *reconciler) provisioned(want provider.Network) verdict {
	v := verdict{
		ready: true, reason: v1.ReasonProvisioned, id: r.provider.ID(want.UID),
		message: want.CIDR.String() + " with gateway " + want.Gateway.String(),
	}
	if p, ok := r.provider.(provider.Aliaser); ok {
		v.alias = p.Alias(want.UID)
	}
	return v
}

// provision makes the real network what is wanted. It writes to the provider only when something differs. declared is whether
// the server has just confirmed the object.
func (r *reconciler) provision(ctx context.Context, n *v1.Network, want provider.Network, declared bool) error {
	actual, err := r.provider.Get(ctx, n.UID)
	missing := errors.Is(err, provider.ErrNotFound)
	if err != nil && !missing {
		return err
	}
	compared(ctx, want, missing, actual)
	if !missing && actual.Matches(want) {
		return nil
	}
	if missing && !declared {
		if err := r.stillDeclared(ctx, n); err != nil {
			return err
		}
	}
	want.Found = actual.Found
	if err := r.provider.Apply(ctx, want); err != nil {
		return err
	}
	done := "changed network %s to %s and gateway %s"
	if missing {
		done = "created network %s with %s and gateway %s"
	}
	loop.Did(ctx, done, r.provider.ID(n.UID), want.CIDR, want.Gateway)
	r.tell(n, r.provisioned(want), missing, actual)
	return nil
}

// compared notes what is wanted and what is there, for who asks why.
func compared(ctx context.Context, want provider.Network, missing bool, actual provider.Actual) {
	there := fmt.Sprintf("there is %s with gateway %s", actual.CIDR, actual.Gateway)
	switch {
	case missing:
		there = "there is none"
	case actual.Matches(want):
		there = "it is so"
	case actual.Fault != "":
		there = actual.Fault
	}
	loop.Note(ctx, "declared is %s with gateway %s: %s", want.CIDR, want.Gateway, there)
}

// errGone is that an object has been deleted, or is being deleted, although the cache does not know.
var errGone = errors.New("the object is gone")

// stillDeclared asks the server itself: a cache that is behind must not bring back the network of an object that is gone.
func (r *reconciler) stillDeclared(ctx context.Context, n *v1.Network) error {
	now, err := r.networks.Get(ctx, n.Namespace, n.Name)
	if apierrors.IsNotFound(err) || err == nil && (now.UID != n.UID || now.DeletionTimestamp != nil) {
		return errGone
	}
	return err
}

// failed is the verdict when the provider could not do its work. Where it says what to do about it, that is what the user
// reads; the details, which may differ each time, go to the log.
func failed(n *v1.Network, err error) verdict {
	var problem *provider.Problem
	if errors.As(err, &problem) {
		return verdict{reason: string(problem.Reason), message: problem.Message, id: n.Status.ID}
	}
	return verdict{reason: v1.ReasonProviderError, message: err.Error(), id: n.Status.ID}
}

// tell says what was done, and why.
func (r *reconciler) tell(n *v1.Network, done verdict, missing bool, was provider.Actual) {
	reason, message := reasonUpdated, done.full()
	switch {
	case done.held(n) && missing:
		reason, message = reasonRestored, "it had been removed; "+message
	case done.held(n):
		reason, message = reasonRestored, difference(was)+"; "+message
	case missing:
		reason = reasonCreated
	}
	r.log.Info("network "+strings.ToLower(reason), "network", n.Namespace+"/"+n.Name, "detail", message)
	r.events.Normal(r.subject(n), reason, "%s", message)
}

// subject is what an event is about. Objects of a list do not say of what kind they are.
func (r *reconciler) subject(n *v1.Network) *v1.Network {
	about := &v1.Network{ObjectMeta: n.ObjectMeta}
	about.SetGroupVersionKind(r.resource.GroupVersion().WithKind(v1.Kind))
	return about
}

// difference says what somebody had done to a network.
func difference(was provider.Actual) string {
	if was.Fault != "" {
		return was.Fault
	}
	return fmt.Sprintf("it had been changed to %s with gateway %s", was.CIDR, was.Gateway)
}

// hold puts the finalizer on an object, before anything real is made for it. held is whether it has done so, which the server
// permits only while the object is as the cache has it.
func (r *reconciler) hold(ctx context.Context, n *v1.Network) (held bool, err error) {
	if slices.Contains(n.Finalizers, finalizer) {
		return false, nil
	}
	err = r.setFinalizers(ctx, n, append(slices.Clone(n.Finalizers), finalizer))
	return err == nil, err
}

// release removes the real network of an object that is being deleted, and then lets the object go.
func (r *reconciler) release(ctx context.Context, n *v1.Network) error {
	if !slices.Contains(n.Finalizers, finalizer) {
		return nil
	}
	_, err := r.provider.Get(ctx, n.UID)
	missing := errors.Is(err, provider.ErrNotFound)
	if err := r.provider.Delete(ctx, n.UID); err != nil {
		return r.fail(ctx, n, err)
	}
	if !missing {
		loop.Did(ctx, "removed network %s", r.provider.ID(n.UID))
		r.log.Info("network "+strings.ToLower(reasonDeleted), "network", n.Namespace+"/"+n.Name)
		r.events.Normal(r.subject(n), reasonDeleted, "%s is gone", r.provider.ID(n.UID))
	}
	others := slices.DeleteFunc(slices.Clone(n.Finalizers), func(f string) bool { return f == finalizer })
	return ignoreGone(r.setFinalizers(ctx, n, others))
}

// setFinalizers replaces the whole list, and only while the object is the one that the list was read from: others may
// have finalizers too.
func (r *reconciler) setFinalizers(ctx context.Context, n *v1.Network, finalizers []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": n.UID, "resourceVersion": n.ResourceVersion, "finalizers": finalizers,
	}})
	if err != nil {
		return err
	}
	_, err = r.networks.Patch(ctx, n.Namespace, n.Name, "", types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// ignoreGone is for writes to an object that may be gone: nothing is left to write then.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
