package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/bowline-dev/bowline/examples/network/apis/samplecrd/v1"
)

// report writes a verdict to the object's status if it differs, and records a warning event if the verdict is
// a new failure. If the kind has no status subresource, for which the server answers NotFound, it writes to
// the object itself. It checks each time, because definitions may be replaced.
func (r *reconciler) report(ctx context.Context, n *v1.Network, v verdict) error {
	if !v.ready && !v.recordedIn(n) {
		r.log.Log(ctx, levelOf(v.reason), "network not ready: "+v.reason, "network", n.Namespace+"/"+n.Name, "detail",
			v.message)
		r.events.Warning(r.subject(n), v.reason, "%s", v.message)
	}
	err := r.writeStatus(ctx, n, v.status(n, r.provider.Name(), n.Generation), "status")
	if !apierrors.IsNotFound(err) {
		return err
	}
	if has, err := r.hasStatus(ctx); has || err != nil {
		return err // the object itself is gone
	}
	return ignoreGone(r.writeStatus(ctx, n, v.status(n, r.provider.Name(), 0), ""))
}

// levelOf returns the log level for a reason. An invalid spec is for the user to correct, who reads the
// status and the event; all other reasons concern the operator, who reads the log.
func levelOf(reason string) slog.Level {
	if reason == v1.ReasonInvalidSpec {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

func (r *reconciler) writeStatus(ctx context.Context, n *v1.Network, s v1.NetworkStatus, subresource string) error {
	r.written.Store(n.UID, ownedStatus(s)) // before the write becomes visible to the informer
	patch, err := statusPatch(n, s)
	if patch == nil || err != nil {
		return err
	}
	_, err = r.networks.Patch(ctx, n.Namespace, n.Name, subresource, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		r.written.Delete(n.UID)
	}
	return err
}

// hasStatus asks the server whether the kind has a status subresource.
func (r *reconciler) hasStatus(ctx context.Context) (bool, error) {
	body, err := r.rest.Get().AbsPath("/apis", r.resource.Group, r.resource.Version).Do(ctx).Raw()
	if err != nil {
		return false, fmt.Errorf("list the resources that the server serves of %s: %w", r.resource.GroupVersion(), err)
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(body, &list); err != nil {
		return false, fmt.Errorf("list the resources that the server serves of %s: %w", r.resource.GroupVersion(), err)
	}
	isStatus := func(a metav1.APIResource) bool { return a.Name == r.resource.Resource+"/status" }
	return slices.ContainsFunc(list.APIResources, isStatus), nil
}
