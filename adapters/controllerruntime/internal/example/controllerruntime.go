package example

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reconciler is the operator, written with controller-runtime.
type Reconciler struct{ client.Client }

// SetupWithManager adds the operator to a manager.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&appsv1.Deployment{}).Owns(&corev1.Service{}).Complete(r)
}

// Reconcile brings the Service of one Deployment to the desired state.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var want *corev1.Service
	var deployment appsv1.Deployment
	err := r.Get(ctx, request.NamespacedName, &deployment)
	switch {
	case err == nil:
		want = desired(&deployment)
	case client.IgnoreNotFound(err) != nil:
		return ctrl.Result{}, err
	}
	var have corev1.Service
	err = r.Get(ctx, request.NamespacedName, &have)
	switch {
	case err != nil && client.IgnoreNotFound(err) != nil:
		return ctrl.Result{}, err
	case err != nil && want == nil:
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, r.Create(ctx, want)
	case metav1.GetControllerOf(&have) == nil || metav1.GetControllerOf(&have).Kind != "Deployment":
		return ctrl.Result{}, nil // somebody else's
	case want == nil:
		return ctrl.Result{}, r.Delete(ctx, &have)
	case adjust(&have, want):
		return ctrl.Result{}, r.Update(ctx, &have)
	}
	return ctrl.Result{}, nil
}
