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

// finalizer keeps an object until its real network is removed.
const finalizer = "bowline.dev/real-network"

// Reasons of events about a Network, in addition to the reasons of the Ready condition.
const (
	reasonCreated  = "Created"
	reasonUpdated  = "Updated"
	reasonRestored = "Restored" // the real network had been changed or removed behind the controller's back
	reasonDeleted  = "Deleted"
)

// reconciler makes the real networks of one group's objects match. Several goroutines may use it, but never
// two for the same object.
type reconciler struct {
	resource schema.GroupVersionResource
	networks client.Resource[*v1.Network]
	rest     rest.Interface
	provider provider.Provider
	events   *loop.Recorder
	log      *slog.Logger
	// written holds the status last written to each object, a v1.NetworkStatus by types.UID.
	written sync.Map
}

// reconcile compares one object, which it does not change, with its real network, and makes the network
// match. An error requests a retry.
func (r *reconciler) reconcile(ctx context.Context, n *v1.Network) error {
	if n.DeletionTimestamp != nil {
		loop.Note(ctx, "it is being deleted")
		return r.release(ctx, n)
	}
	want, err := wanted(n)
	if err != nil {
		return r.report(ctx, n, verdict{reason: v1.ReasonInvalidSpec, message: err.Error(), id: n.Status.ID})
	}
	declared, err := r.addFinalizer(ctx, n)
	if err != nil {
		return ignoreGone(err)
	}
	switch err := r.provision(ctx, n, want, declared); {
	case errors.Is(err, errGone):
		return nil // the cache will receive the deletion
	case err != nil:
		return r.fail(ctx, n, err)
	}
	return r.report(ctx, n, r.provisioned(want))
}

// fail reports an error of the provider in the status, unless ctx has ended because the controller stops. It
// always returns an error.
func (r *reconciler) fail(ctx context.Context, n *v1.Network, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return errors.Join(err, r.report(ctx, n, failed(n, err)))
}

// provisioned is the verdict on a network that matches its spec.
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

// provision makes the real network match. It writes to the provider only if something differs. declared means
// that the server has just confirmed that the object exists.
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
	r.recordChange(n, r.provisioned(want), missing, actual)
	return nil
}

// compared records the declared and the real network in the journal.
func compared(ctx context.Context, want provider.Network, missing bool, actual provider.Actual) {
	found := fmt.Sprintf("%s with gateway %s", actual.CIDR, actual.Gateway)
	switch {
	case missing:
		found = "none"
	case actual.Matches(want):
		found = "the same"
	case actual.Fault != "":
		found = actual.Fault
	}
	loop.Note(ctx, "declared: %s with gateway %s; actual: %s", want.CIDR, want.Gateway, found)
}

// errGone means that the object is deleted or being deleted although the cache still has it.
var errGone = errors.New("the object is gone")

// stillDeclared reads the object from the server, so that a stale cache does not recreate the network of a
// deleted object.
func (r *reconciler) stillDeclared(ctx context.Context, n *v1.Network) error {
	now, err := r.networks.Get(ctx, n.Namespace, n.Name)
	if apierrors.IsNotFound(err) || err == nil && (now.UID != n.UID || now.DeletionTimestamp != nil) {
		return errGone
	}
	return err
}

// failed is the verdict on an error of the provider. If the provider explains the problem, the user reads
// that explanation; the details, which may differ each time, go to the log only.
func failed(n *v1.Network, err error) verdict {
	var problem *provider.Problem
	if errors.As(err, &problem) {
		return verdict{reason: string(problem.Reason), message: problem.Message, id: n.Status.ID}
	}
	return verdict{reason: v1.ReasonProviderError, message: err.Error(), id: n.Status.ID}
}

// recordChange logs what was done and why, and records an event.
func (r *reconciler) recordChange(n *v1.Network, done verdict, missing bool, was provider.Actual) {
	reason, message := reasonUpdated, done.full()
	switch {
	case done.recordedIgnoringAlias(n) && missing:
		reason, message = reasonRestored, "it had been removed; "+message
	case done.recordedIgnoringAlias(n):
		reason, message = reasonRestored, difference(was)+"; "+message
	case missing:
		reason = reasonCreated
	}
	r.log.Info("network "+strings.ToLower(reason), "network", n.Namespace+"/"+n.Name, "detail", message)
	r.events.Normal(r.subject(n), reason, "%s", message)
}

// subject returns the object of an event. Objects of a list have no apiVersion and kind, so it adds them.
func (r *reconciler) subject(n *v1.Network) *v1.Network {
	about := &v1.Network{ObjectMeta: n.ObjectMeta}
	about.SetGroupVersionKind(r.resource.GroupVersion().WithKind(v1.Kind))
	return about
}

// difference describes how a network had been changed behind the controller's back.
func difference(was provider.Actual) string {
	if was.Fault != "" {
		return was.Fault
	}
	return fmt.Sprintf("it had been changed to %s with gateway %s", was.CIDR, was.Gateway)
}

// addFinalizer adds the finalizer to an object before anything real is created for it. held reports whether it did
// so, which the server accepts only if the cached object is current.
func (r *reconciler) addFinalizer(ctx context.Context, n *v1.Network) (held bool, err error) {
	if slices.Contains(n.Finalizers, finalizer) {
		return false, nil
	}
	err = r.setFinalizers(ctx, n, append(slices.Clone(n.Finalizers), finalizer))
	return err == nil, err
}

// release removes the real network of an object that is being deleted, and then removes the finalizer.
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

// setFinalizers replaces the whole list, on the condition that the object has not changed since it was read:
// others may add finalizers too.
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

// ignoreGone returns nil for a NotFound error: if the object is gone, there is nothing left to write.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
