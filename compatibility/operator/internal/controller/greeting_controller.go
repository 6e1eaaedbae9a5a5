// Package controller reconciles Greetings and Choirs.
package controller

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	greetingv1 "example.com/operator/api/v1"
)

const finalizer = "example.com/farewell"

// GreetingReconciler writes the text of a Greeting to a ConfigMap of the same name, and writes a farewell to
// it when the Greeting is deleted.
type GreetingReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// Reconcile reconciles a Greeting.
func (r *GreetingReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	greeting := &greetingv1.Greeting{}
	if err := r.Get(ctx, req.NamespacedName, greeting); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	words := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}}
	if !greeting.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(greeting, finalizer) {
			if err := client.IgnoreNotFound(r.Delete(ctx, words)); err != nil {
				return ctrl.Result{}, err
			}
			return ctrl.Result{}, r.Update(ctx, greeting)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(greeting, finalizer) {
		return ctrl.Result{}, r.Update(ctx, greeting)
	}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, words, func() error {
		words.Data = map[string]string{"words": strings.Repeat("Hello, "+greeting.Spec.Name+"! ",
			int(greeting.Spec.Times))}
		return controllerutil.SetControllerReference(greeting, words, r.Scheme)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	greeting.Status.ConfigMap = words.Name
	meta.SetStatusCondition(&greeting.Status.Conditions, metav1.Condition{
		Type: "Said", Status: metav1.ConditionTrue, Reason: "Written", ObservedGeneration: greeting.Generation,
	})
	return ctrl.Result{}, r.Status().Update(ctx, greeting)
}

// SetupWithManager adds the controller to a manager.
func (r *GreetingReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&greetingv1.Greeting{}).Owns(&corev1.ConfigMap{}).Named("greeting").Complete(r)
}
