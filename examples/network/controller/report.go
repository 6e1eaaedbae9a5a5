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

// report writes a verdict into the object's status if that says anything else, with a warning event for one that is new
// and bad. Where the kind has no status subresource, which a server answers as if nothing were there, it writes to the
// object itself. It does not remember which is the case: definitions are replaced.
func (r *reconciler) report(ctx context.Context, n *v1.Network, v verdict) error {
	if !v.ready && !v.holds(n) {
		r.log.Log(ctx, levelOf(v.reason), "network not ready: "+v.reason, "network", n.Namespace+"/"+n.Name, "detail", v.message)
		r.events.Warning(r.subject(n), v.reason, "%s", v.message)
	}
	err := r.writeStatus(ctx, n, v.status(n, r.provider.Name(), n.Generation), "status")
	if !apierrors.IsNotFound(err) {
		return err
	}
	if has, err := r.hasStatus(ctx); has || err != nil {
		return err // the object is what is gone
	}
	return ignoreGone(r.writeStatus(ctx, n, v.status(n, r.provider.Name(), 0), ""))
}

// levelOf is how loudly a reason is logged. A wrong spec is its author's to mend, whom the status and an event tell; the
// rest is the operator's, who reads the log.
func levelOf(reason string) slog.Level {
	if reason == v1.ReasonInvalidSpec {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

func (r *reconciler) writeStatus(ctx context.Context, n *v1.Network, s v1.NetworkStatus, subresource string) error {
	r.said.Store(n.UID, statement(s)) // before anybody hears of it
	patch, err := statusPatch(n, s)
	if patch == nil || err != nil {
		return err
	}
	_, err = r.networks.Patch(ctx, n.Namespace, n.Name, subresource, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		r.said.Delete(n.UID)
	}
	return err
}

// hasStatus asks the server whether the kind has a status subresource.
func (r *reconciler) hasStatus(ctx context.Context) (bool, error) {
	body, err := r.rest.Get().AbsPath("/apis", r.resource.Group, r.resource.Version).Do(ctx).Raw()
	if err != nil {
		return false, fmt.Errorf("read what the server serves of %s: %w", r.resource.GroupVersion(), err)
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(body, &list); err != nil {
		return false, fmt.Errorf("read what the server serves of %s: %w", r.resource.GroupVersion(), err)
	}
	isStatus := func(a metav1.APIResource) bool { return a.Name == r.resource.Resource+"/status" }
	return slices.ContainsFunc(list.APIResources, isStatus), nil
}
