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

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
)

// Reasons of the events about what was done.
const (
	reasonCreated = "Created"
	reasonUpdated = "Updated"
	reasonDeleted = "Deleted"
)

// reconciler keeps the Ingress of one service at a time. Several goroutines may use it, though never two for one service.
type reconciler struct {
	class     string
	services  *informer.Indexer[*corev1.Service]
	ingresses *informer.Indexer[*networkingv1.Ingress]
	current   client.Resource[*corev1.Service] // as the server has them, for what must not be done by mistake
	write     client.Resource[*networkingv1.Ingress]
	events    *controller.Recorder
}

// Reconcile implements controller.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, key controller.Request) (controller.Result, error) {
	service, _ := r.services.Get(key) // nil for one that is gone
	ingress, _ := r.ingresses.Get(key)
	if isLeft(service, ingress) {
		return controller.Result{}, r.remove(ctx, ingress)
	}
	asks, problem := wanted(service)
	if problem != nil {
		r.warn(ctx, service, problem)
	}
	if !asks {
		return controller.Result{}, nil
	}
	return controller.Result{}, r.keep(ctx, service, ingress)
}

// isLeft says whether an Ingress was made for a service that no longer asks for it: one without the annotation, or one that is
// gone, even if another of its name has come since. One whose service is deleted with --cascade=orphan is to stay: a cluster
// takes the owner out of it before the service goes.
func isLeft(service *corev1.Service, ingress *networkingv1.Ingress) bool {
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

// isOrphaning says whether a service is being deleted so that what it owns stays.
func isOrphaning(s *corev1.Service) bool {
	return s != nil && s.DeletionTimestamp != nil && slices.Contains(s.Finalizers, metav1.FinalizerOrphanDependents)
}

// remove deletes an Ingress that is left. It asks the server first, since the caches of services and of Ingresses follow it
// independently: the service may be newer than what the cache shows, and the Ingress another manager's work for it. A cluster
// that collects garbage deletes what is left of a service that is gone too; whoever comes first is right.
func (r *reconciler) remove(ctx context.Context, ingress *networkingv1.Ingress) error {
	service, err := r.ask(ctx, ingress.Namespace, ingress.Name)
	if err != nil || !isLeft(service, ingress) {
		return err // nil when the cache is to hear of it yet
	}
	same := metav1.Preconditions{UID: &ingress.UID, ResourceVersion: &ingress.ResourceVersion}
	err = r.write.Delete(ctx, ingress.Namespace, ingress.Name, metav1.DeleteOptions{Preconditions: &same})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil && service != nil {
		r.events.Normal(subject(service), reasonDeleted, "Ingress %s, which the service does not ask for any more", ingress.Name)
	}
	return err
}

// ask is a service as the server has it now; nil when it is gone.
func (r *reconciler) ask(ctx context.Context, namespace, name string) (*corev1.Service, error) {
	service, err := r.current.Get(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask whether service %s wants an Ingress: %w", name, err)
	}
	return service, nil
}

// keep makes the Ingress of a service that asks for one. What stands in the way is said in an event on the service, whose
// Ingress stays as it is meanwhile.
func (r *reconciler) keep(ctx context.Context, service *corev1.Service, ingress *networkingv1.Ingress) error {
	want, problem := ingressFor(service, r.class)
	switch {
	case problem != nil:
		r.warn(ctx, service, problem)
		return nil
	case ingress == nil:
		return r.create(ctx, service, want)
	case ingress.DeletionTimestamp != nil:
		return nil // it is made anew when that is over, of which the cache will hear
	case !metav1.IsControlledBy(ingress, service):
		r.warn(ctx, service, complain(reasonNameTaken,
			"Ingress %s is not this service's, and is left alone: delete or rename it, or the service gets none", ingress.Name))
		return nil
	case sameRoute(ingress, want):
		controller.Note(ctx, "the Ingress is as it should be: %s", route(want))
		return nil
	}
	return r.update(ctx, service, ingress, want)
}

// confirm asks the server whether a service is still what the cache shows. A manager whose cache is late would else undo what
// another one does, which knows better, and that one undo this, and so on.
func (r *reconciler) confirm(ctx context.Context, service *corev1.Service) error {
	now, err := r.ask(ctx, service.Namespace, service.Name)
	if err == nil && (now == nil || now.UID != service.UID || now.ResourceVersion != service.ResourceVersion) {
		err = apierrors.NewConflict(corev1.Resource("services"), service.Name, errors.New("the cache shows another state of it"))
	}
	return err
}

// create makes the Ingress by a POST, which fails if there is one of that name: an apply would change that, whosever it is.
func (r *reconciler) create(ctx context.Context, service *corev1.Service, want *networkingv1.Ingress) error {
	if err := r.confirm(ctx, service); err != nil {
		return err
	}
	_, err := r.write.Create(ctx, want, metav1.CreateOptions{FieldManager: FieldManager})
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil // the service goes as well
	}
	return r.done(ctx, service, reasonCreated, want, err)
}

// update applies the manager's fields, and takes them back from whoever has changed them. All other fields stay as they are. The
// revision has the server refuse it when the Ingress is not any more what was looked at.
func (r *reconciler) update(ctx context.Context, service *corev1.Service, now, want *networkingv1.Ingress) error {
	controller.Note(ctx, "the Ingress has %s, and should have %s", route(now), route(want))
	if err := r.confirm(ctx, service); err != nil {
		return err
	}
	want.ResourceVersion = now.ResourceVersion
	_, err := r.write.ApplyObject(ctx, want, metav1.ApplyOptions{FieldManager: FieldManager, Force: true})
	return r.done(ctx, service, reasonUpdated, want, err)
}

// done tells of a write. One that the server calls invalid is the service's owner's to mend, and not tried again before. What
// else is against it may end without the service, so that is tried again.
func (r *reconciler) done(ctx context.Context, service *corev1.Service, did string, want *networkingv1.Ingress, err error) error {
	if err == nil {
		r.events.Normal(subject(service), did, "Ingress %s: %s", want.Name, route(want))
	}
	if isRefusal(err) {
		r.warn(ctx, service, complain(reasonRefused, "%v", err))
	}
	if apierrors.IsInvalid(err) {
		return nil
	}
	return err
}

// isRefusal says whether the server has looked at an Ingress and does not take it: it is invalid, or a webhook (which answers
// 400 unless it says otherwise), a quota or a missing right is against it.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
}

// warn tells the service's owner of a problem.
func (r *reconciler) warn(ctx context.Context, service *corev1.Service, problem *complaint) {
	controller.Note(ctx, "%s: %s", problem.reason, problem.message)
	r.events.Warning(subject(service), problem.reason, "%s", problem.message)
}

// sameRoute says whether an Ingress has in the manager's fields what it should.
func sameRoute(now, want *networkingv1.Ingress) bool {
	return reflect.DeepEqual(now.Spec.IngressClassName, want.Spec.IngressClassName) &&
		reflect.DeepEqual(now.Spec.Rules, want.Spec.Rules)
}

// route is what an Ingress routes where, for people.
func route(i *networkingv1.Ingress) string {
	if len(i.Spec.Rules) == 0 || i.Spec.Rules[0].HTTP == nil || len(i.Spec.Rules[0].HTTP.Paths) == 0 {
		return "no rule"
	}
	rule := i.Spec.Rules[0]
	path := rule.HTTP.Paths[0]
	if path.Backend.Service == nil {
		return fmt.Sprintf("http://%s%s to no service", rule.Host, path.Path)
	}
	return fmt.Sprintf("http://%s%s to %s:%d", rule.Host, path.Path, path.Backend.Service.Name, path.Backend.Service.Port.Number)
}

// subject is a service as an event names it: objects of a cache do not say their kind.
func subject(s *corev1.Service) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID},
	}
}
