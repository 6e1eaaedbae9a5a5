package manager

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/controller"
)

// Reasons of the events about changes.
const (
	reasonCreated = "Created"
	reasonUpdated = "Updated"
	reasonDeleted = "Deleted"
)

// reconciler maintains the Ingresses. Several goroutines may use it, but never two for the same service.
type reconciler struct {
	class     string
	services  *controller.Objects[*corev1.Service]
	ingresses *controller.Objects[*networkingv1.Ingress]
	events    *controller.Recorder
}

// Reconcile implements controller.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, key controller.Request) (controller.Result, error) {
	service, _ := r.services.Get(key.Namespace, key.Name) // nil if it is gone
	ingress, _ := r.ingresses.Get(key.Namespace, key.Name)
	if isObsolete(service, ingress) {
		return controller.Result{}, r.remove(ctx, ingress)
	}
	asks, problem := wanted(service)
	if problem != nil {
		r.warn(ctx, service, problem)
	}
	if !asks {
		return controller.Result{}, nil
	}
	return controller.Result{}, r.ensure(ctx, service, ingress)
}

// isObsolete reports whether an Ingress was created for a service that no longer requests it: because the
// annotation is missing, or because the service is gone or has been replaced. If the service is deleted with
// --cascade=orphan, its Ingress remains: the garbage collector removes the owner reference before the service
// is removed.
func isObsolete(service *corev1.Service, ingress *networkingv1.Ingress) bool {
	if ingress == nil || ingress.DeletionTimestamp != nil || isOrphaning(service) {
		return false
	}
	owner := metav1.GetControllerOfNoCopy(ingress)
	if owner == nil || owner.APIVersion != "v1" || owner.Kind != "Service" || owner.Name != ingress.Name {
		return false
	}
	asks, _ := wanted(service)
	return !asks || owner.UID != service.UID
}

// isOrphaning reports whether a service is being deleted with --cascade=orphan.
func isOrphaning(s *corev1.Service) bool {
	return s != nil && s.DeletionTimestamp != nil && slices.Contains(s.Finalizers, metav1.FinalizerOrphanDependents)
}

// remove deletes an Ingress that isObsolete selected. It reads the service from the server first, since the
// caches of services and Ingresses are updated independently: the service may be newer than the cached one,
// and the Ingress may have been created for it by another manager. A garbage collector may delete the Ingress
// first.
func (r *reconciler) remove(ctx context.Context, ingress *networkingv1.Ingress) error {
	service, err := r.getCurrent(ctx, ingress.Namespace, ingress.Name)
	if err != nil || !isObsolete(service, ingress) {
		return err // nil if the cache is stale
	}
	same := metav1.Preconditions{UID: &ingress.UID, ResourceVersion: &ingress.ResourceVersion}
	err = r.ingresses.Client().Delete(ctx, ingress.Namespace, ingress.Name, metav1.DeleteOptions{Preconditions: &same})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil && service != nil {
		r.events.Normal(subject(service), reasonDeleted, "Ingress %s, because the service no longer requests it",
			ingress.Name)
	}
	return err
}

// getCurrent reads a service from the server, before writes that must not rely on a stale cache. It returns nil if the
// service is gone.
func (r *reconciler) getCurrent(ctx context.Context, namespace, name string) (*corev1.Service, error) {
	service, err := r.services.Client().Get(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("check whether service %s requests an Ingress: %w", name, err)
	}
	return service, nil
}

// ensure creates or updates the Ingress of a service that requests one. If it cannot, it records an event about
// the service and leaves the Ingress as it is.
func (r *reconciler) ensure(ctx context.Context, service *corev1.Service, ingress *networkingv1.Ingress) error {
	want, problem := ingressFor(service, r.class)
	switch {
	case problem != nil:
		r.warn(ctx, service, problem)
		return nil
	case ingress == nil:
		return r.create(ctx, service, want)
	case ingress.DeletionTimestamp != nil:
		return nil // it is recreated when the deletion is complete, which the cache reports
	case !metav1.IsControlledBy(ingress, service):
		r.warn(ctx, service, problemf(reasonNameTaken,
			"Ingress %s has another owner and is not changed: delete or rename it, otherwise the service gets none",
			ingress.Name))
		return nil
	case sameRoute(ingress, want):
		controller.Note(ctx, "the Ingress is as requested: %s", route(want))
		return nil
	}
	return r.update(ctx, service, ingress, want)
}

// confirm returns an error unless the cached service is current. Otherwise a manager with a stale cache and
// one with a current cache could undo each other's writes repeatedly.
func (r *reconciler) confirm(ctx context.Context, service *corev1.Service) error {
	now, err := r.getCurrent(ctx, service.Namespace, service.Name)
	if err == nil && (now == nil || now.UID != service.UID || now.ResourceVersion != service.ResourceVersion) {
		err = apierrors.NewConflict(corev1.Resource("services"), service.Name,
			errors.New("the cache has a different version of it"))
	}
	return err
}

// create uses POST, which fails if an Ingress of that name exists. An apply would change it, whatever its
// owner.
func (r *reconciler) create(ctx context.Context, service *corev1.Service, want *networkingv1.Ingress) error {
	if err := r.confirm(ctx, service); err != nil {
		return err
	}
	_, err := r.ingresses.Client().Create(ctx, want, metav1.CreateOptions{FieldManager: FieldManager})
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil // the service is deleted with the namespace
	}
	return r.recordResult(ctx, service, reasonCreated, want, err)
}

// update applies the manager's fields and takes their ownership from other field managers. All other fields
// remain. With the resourceVersion the server refuses the write if the Ingress has changed since it was read.
func (r *reconciler) update(ctx context.Context, service *corev1.Service, now, want *networkingv1.Ingress) error {
	controller.Note(ctx, "the Ingress has %s, and the service requests %s", route(now), route(want))
	if err := r.confirm(ctx, service); err != nil {
		return err
	}
	want.ResourceVersion = now.ResourceVersion
	_, err := r.ingresses.Client().ApplyObject(ctx, want, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	return r.recordResult(ctx, service, reasonUpdated, want, err)
}

// recordResult records an event about a write. If the server reports the Ingress as invalid, the service's owner has
// to correct it, and it is not retried. Other refusals may end without a change of the service, so they are
// retried.
func (r *reconciler) recordResult(ctx context.Context, service *corev1.Service, did string, want *networkingv1.Ingress,
	err error) error {
	if err == nil {
		r.events.Normal(subject(service), did, "Ingress %s: %s", want.Name, route(want))
	}
	if isRefusal(err) {
		r.warn(ctx, service, problemf(reasonRefused, "%v", err))
	}
	if apierrors.IsInvalid(err) {
		return nil
	}
	return err
}

// isRefusal reports whether the server rejected an Ingress: it is invalid, or denied by a webhook (with
// status 400 by default), a quota or an authorizer.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
}

// warn records a problem as an event about the service.
func (r *reconciler) warn(ctx context.Context, service *corev1.Service, problem *problem) {
	controller.Note(ctx, "%s: %s", problem.reason, problem.message)
	r.events.Warning(subject(service), problem.reason, "%s", problem.message)
}

// sameRoute reports whether the manager's fields of an Ingress match.
func sameRoute(now, want *networkingv1.Ingress) bool {
	return reflect.DeepEqual(now.Spec.IngressClassName, want.Spec.IngressClassName) &&
		reflect.DeepEqual(now.Spec.Rules, want.Spec.Rules)
}

// route describes the route of an Ingress for people.
func route(i *networkingv1.Ingress) string {
	if len(i.Spec.Rules) == 0 || i.Spec.Rules[0].HTTP == nil || len(i.Spec.Rules[0].HTTP.Paths) == 0 {
		return "no rule"
	}
	rule := i.Spec.Rules[0]
	path := rule.HTTP.Paths[0]
	if path.Backend.Service == nil {
		return fmt.Sprintf("http://%s%s to no service", rule.Host, path.Path)
	}
	return fmt.Sprintf("http://%s%s to %s:%d", rule.Host, path.Path, path.Backend.Service.Name,
		path.Backend.Service.Port.Number)
}

// subject returns a service for an event, with apiVersion and kind, which cached objects lack.
func subject(s *corev1.Service) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID},
	}
}
