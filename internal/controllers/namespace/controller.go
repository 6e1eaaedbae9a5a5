// Package namespace is the controller that ends namespaces. Deleting a namespace only marks it: this controller then
// deletes everything in it, custom resources included, waits until all of it is gone, says in the namespace's status what
// it waits for, and at last takes away the finalizer that holds the namespace.
//
// What a late cache shows as ending may have gone, and been made again by that name: nothing is deleted but what was listed
// before the server said that the namespace is still that one.
//
// It knows no kind but Namespace and Pod: what there is to delete it learns from the server's discovery. It talks to the
// API as any client does, in process or over the wire.
//
// Pods go first, so that nothing that they need is taken from under them. A pod whose node exists is given the time to
// end that it asked for; one whose node does not exist is run by nobody, and is deleted at once.
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

// Name of the controller, as --controllers takes it.
const Name = "namespace"

// How long to wait before looking again whether what was deleted is gone: at first, and at most.
const (
	firstLook = 5 * time.Millisecond
	lastLook  = 10 * time.Second
)

// workers is how many namespaces are ended at a time.
const workers = 4

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	watched := informer.For[*corev1.Namespace](m.Informers(), namespaces)
	return m.Add(controller.Options{
		Name:    Name,
		Sources: []controller.Source{controller.For(watched, controller.If(matters))},
		Workers: workers,
		Reconciler: &reconciler{
			cached:     watched.Lister(),
			client:     m.Client(),
			namespaces: client.Of[*corev1.Namespace](m.Client(), namespaces),
			looks:      workqueue.NewExponential[controller.Request](firstLook, lastLook),
		},
	})
}

// matters says whether a namespace begins to end, or does so no more. What else changes while it ends is mostly what the
// controller itself says of it; when to look again at what it waits for is in its own hands.
func matters(old, now *corev1.Namespace) bool {
	return now == nil || isOurs(now) != (old != nil && isOurs(old)) || old != nil && old.UID != now.UID
}

// reconciler ends one namespace at a time.
type reconciler struct {
	cached     informer.Lister[*corev1.Namespace]
	client     *client.Client
	namespaces client.Resource[*corev1.Namespace]
	// looks is how long to wait for what has been deleted; waiting is no failure.
	looks workqueue.Limiter[controller.Request]
}

// Reconcile goes as far with ending a namespace as it can be gone now.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	ns, err := r.cached.Get("", request.Name)
	if apierrors.IsNotFound(err) || err == nil && !isOurs(ns) {
		r.looks.Forget(request)
		return controller.Result{}, nil
	}
	if err != nil { // it is there, and nobody knows whether it is to end
		return controller.Result{}, err
	}
	p := &pass{client: r.client, namespaces: r.namespaces, namespace: ns}
	p.delete(ctx)
	if ctx.Err() != nil {
		return controller.Result{}, ctx.Err()
	}
	if p.behind { // the cache will show what is, and that is a reason to look again if there is something to do
		controller.Note(ctx, "the one that was to end does not any more")
		return controller.Result{}, nil
	}
	left := &p.left
	if !left.any() && left.failure() == nil && p.moved(ctx) {
		controller.Note(ctx, "what is served has changed: looking again")
		return controller.Result{RequeueAfter: r.looks.When(request)}, nil
	}
	controller.Note(ctx, "it is to end: %s", left)
	if ns, err = r.report(ctx, p.namespace.DeepCopy(), left); err != nil {
		return controller.Result{}, ended(err)
	}
	if err := left.failure(); err != nil {
		return controller.Result{}, err
	}
	if left.any() {
		return controller.Result{RequeueAfter: r.looks.When(request)}, nil
	}
	return controller.Result{}, ended(r.finalize(ctx, ns))
}

// isOurs says whether a namespace is being deleted and waits for this controller.
func isOurs(ns *corev1.Namespace) bool {
	return ns.DeletionTimestamp != nil && slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
}

// report writes what keeps the namespace into its status, unless that stands there already or nothing does.
func (r *reconciler) report(ctx context.Context, ns *corev1.Namespace, left *remains) (*corev1.Namespace, error) {
	if !left.any() && left.failure() == nil && len(ns.Status.Conditions) == 0 {
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

// finalize takes the finalizer away, which lets the server remove the namespace.
func (r *reconciler) finalize(ctx context.Context, ns *corev1.Namespace) error {
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool {
		return f == corev1.FinalizerKubernetes
	})
	if _, err := r.namespaces.UpdateSubresource(ctx, "finalize", ns, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("taking the finalizer from the namespace, which is empty: %w", err)
	}
	return nil
}

// ended is nil for what only says that the namespace has gone meanwhile.
func ended(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
