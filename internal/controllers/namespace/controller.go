// Package namespace implements the controller that deletes the content of namespaces. Deleting a namespace
// only marks it as terminating. The controller then deletes everything in it, including custom resources,
// waits until it is gone, reports in the namespace's status what it waits for, and finally removes the
// finalizer that holds the namespace.
//
// A stale cache may show a namespace as terminating that was deleted and recreated under its name. Therefore
// the controller deletes only objects that it listed before the server confirmed that the namespace is still
// the same and terminating.
//
// The controller has no code for kinds other than Namespace and Pod; it finds the resources to delete by
// discovery. It uses the API like any client, in process or over the wire.
//
// The controller deletes pods first, so that they do not lose objects in use. A pod on an existing node gets
// its grace period; a pod whose node does not exist is deleted immediately, since no kubelet runs it.
package namespace

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/workqueue"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "namespace"

// firstRecheck and lastRecheck bound the exponential delay between checks whether deleted objects still exist.
const (
	firstRecheck = 5 * time.Millisecond
	lastRecheck  = 10 * time.Second
)

// workers is the number of namespaces processed concurrently.
const workers = 4

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	watched := informer.For[*corev1.Namespace](m.Informers(), namespaces)
	return m.Add(controller.Options{
		Name:    Name,
		Sources: []controller.Source{controller.For(watched, controller.If(affectsCleanup))},
		Workers: workers,
		Reconciler: &reconciler{
			cached:     watched.Lister(),
			client:     m.Client(),
			namespaces: client.Of[*corev1.Namespace](m.Client(), namespaces),
			rechecks:   workqueue.NewExponential[controller.Request](firstRecheck, lastRecheck),
		},
	})
}

// affectsCleanup reports whether a namespace starts or stops being processed. Most other changes of a terminating
// namespace are the controller's own status updates; it schedules its next pass itself.
func affectsCleanup(old, now *corev1.Namespace) bool {
	return now == nil || needsCleanup(now) != (old != nil && needsCleanup(old)) || old != nil && old.UID != now.UID
}

// reconciler processes one namespace per request.
type reconciler struct {
	cached     informer.Lister[*corev1.Namespace]
	client     *client.Client
	namespaces client.Resource[*corev1.Namespace]
	// rechecks delays checks for deleted objects, separately from the backoff for errors.
	rechecks workqueue.Limiter[controller.Request]
}

// Reconcile executes one pass over a terminating namespace.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	ns, err := r.cached.Get("", request.Name)
	if apierrors.IsNotFound(err) || err == nil && !needsCleanup(ns) {
		r.rechecks.Forget(request)
		return controller.Result{}, nil
	}
	if err != nil { // the namespace exists, but whether it is terminating is unknown
		return controller.Result{}, err
	}
	p := &pass{client: r.client, namespaces: r.namespaces, namespace: ns}
	p.delete(ctx)
	if ctx.Err() != nil {
		return controller.Result{}, ctx.Err()
	}
	if p.stale { // the cache's next event triggers a reconcile
		controller.Note(ctx, "the namespace is no longer terminating")
		return controller.Result{}, nil
	}
	left := &p.left
	if !left.hasObjects() && left.failure() == nil && p.mayBeServedElsewhere(ctx) {
		controller.Note(ctx, "the served resources have changed: retrying")
		return controller.Result{RequeueAfter: r.rechecks.When(request)}, nil
	}
	controller.Note(ctx, "terminating: %s", left)
	if ns, err = r.report(ctx, p.namespace.DeepCopy(), left); err != nil {
		return controller.Result{}, ignoreGone(err)
	}
	if err := left.failure(); err != nil {
		return controller.Result{}, err
	}
	if left.hasObjects() {
		return controller.Result{RequeueAfter: r.rechecks.When(request)}, nil
	}
	return controller.Result{}, ignoreGone(r.finalize(ctx, ns))
}

// needsCleanup reports whether a namespace is terminating and has the controller's finalizer.
func needsCleanup(ns *corev1.Namespace) bool {
	return ns.DeletionTimestamp != nil && slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
}

// report updates the namespace's status with what is left, unless it is unchanged or nothing is left.
func (r *reconciler) report(ctx context.Context, ns *corev1.Namespace, left *remaining) (*corev1.Namespace, error) {
	if !left.hasObjects() && left.failure() == nil && len(ns.Status.Conditions) == 0 {
		return ns, nil
	}
	changed := ns.Status.Phase != corev1.NamespaceTerminating
	ns.Status.Phase = corev1.NamespaceTerminating
	for _, condition := range left.conditions() {
		changed = setCondition(&ns.Status, condition) || changed
	}
	if !changed {
		return ns, nil
	}
	return r.namespaces.UpdateStatus(ctx, ns, metav1.UpdateOptions{})
}

// finalize removes the finalizer, after which the server deletes the namespace.
func (r *reconciler) finalize(ctx context.Context, ns *corev1.Namespace) error {
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool {
		return f == corev1.FinalizerKubernetes
	})
	if _, err := r.namespaces.UpdateSubresource(ctx, "finalize", ns, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("removing the finalizer of the empty namespace: %w", err)
	}
	return nil
}

// ignoreGone drops a NotFound error: the namespace is gone.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
