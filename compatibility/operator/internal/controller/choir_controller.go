package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	greetingv1 "example.com/operator/api/v1"
)

// ChoirReconciler creates a Greeting for each singer of a Choir. It has no finalizer: the choir owns its
// greetings, which the garbage collector deletes.
type ChoirReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// Reconcile creates the missing greetings of a choir and updates its status.
func (r *ChoirReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	choir := &greetingv1.Choir{}
	if err := r.Get(ctx, req.NamespacedName, choir); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !choir.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	for _, singer := range choir.Spec.Singers {
		if err := r.sing(ctx, choir, singer); err != nil {
			if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
				return ctrl.Result{}, nil
			}
			return ctrl.Result{}, err
		}
	}
	heard, err := r.listen(ctx, choir)
	if err != nil || choir.Status.Heard == heard {
		return ctrl.Result{}, err
	}
	choir.Status.Heard = heard
	return ctrl.Result{}, r.Status().Update(ctx, choir)
}

// sing creates the greeting of one singer. If a greeting of that name exists with another owner or without
// one, it is not touched: after a choir was deleted with orphans, its cached state must not adopt them again.
func (r *ChoirReconciler) sing(ctx context.Context, choir *greetingv1.Choir, singer string) error {
	greeting := &greetingv1.Greeting{ObjectMeta: metav1.ObjectMeta{Namespace: choir.Namespace,
		Name: choir.Name + "-" + singer}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, greeting, func() error {
		if greeting.UID != "" && !metav1.IsControlledBy(greeting, choir) {
			return fmt.Errorf("the greeting %s is not one of the choir %s", greeting.Name, choir.Name)
		}
		greeting.Spec.Name = choir.Spec.Audience
		return controllerutil.SetControllerReference(choir, greeting, r.Scheme)
	})
	return err
}

// listen counts the completed greetings of a choir, and deletes those of singers who have left.
func (r *ChoirReconciler) listen(ctx context.Context, choir *greetingv1.Choir) (heard int32, err error) {
	greetings := &greetingv1.GreetingList{}
	if err := r.List(ctx, greetings, client.InNamespace(choir.Namespace)); err != nil {
		return 0, err
	}
	for i := range greetings.Items {
		greeting := &greetings.Items[i]
		sings := func(singer string) bool { return greeting.Name == choir.Name+"-"+singer }
		switch {
		case !metav1.IsControlledBy(greeting, choir):
		case !slices.ContainsFunc(choir.Spec.Singers, sings):
			if err := client.IgnoreNotFound(r.Delete(ctx, greeting)); err != nil {
				return 0, err
			}
		case meta.IsStatusConditionTrue(greeting.Status.Conditions, "Said"):
			heard++
		}
	}
	return heard, nil
}

// SetupWithManager adds the controller to a manager.
func (r *ChoirReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&greetingv1.Choir{}).Owns(&greetingv1.Greeting{}).Named("choir").Complete(r)
}
