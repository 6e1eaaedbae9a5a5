// Package deployment is the controller that takes a deployment's pods from one template to the next. It makes a replicaset for
// each template, and moves pods from the old ones to the new one by their sizes alone: it never touches a pod.
//
// decide.go is what it does, of nothing but what was seen; revision.go tells the replicasets apart, roll.go moves pods between
// them, recreate.go ends the old ones first, scale.go shares out a new size, status.go says how far it is, history.go forgets.
// This file reads the cache and carries it out.
package deployment

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/adopt"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// Name of the controller, as --controllers takes it.
const Name = "deployment"

// workers is how many deployments are worked on at a time.
const workers = 5

var (
	kind         = appsv1.SchemeGroupVersion.WithKind("Deployment")
	resource     = appsv1.SchemeGroupVersion.WithResource("deployments")
	setsResource = appsv1.SchemeGroupVersion.WithResource("replicasets")
	setKind      = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
)

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	r := &reconciler{
		deployments: informer.For[*appsv1.Deployment](m.Informers(), resource),
		sets:        adopt.CacheOf[*appsv1.ReplicaSet](m, setsResource),
		pods:        adopt.CacheOf[*corev1.Pod](m, pods.Resource),
		hand:        action.NewHand(m, "deployment-controller"),
	}
	return m.Add(controller.Options{
		Name:       Name,
		Reconciler: r,
		Sources: []controller.Source{
			controller.For(r.deployments),
			controller.Owns(r.sets.Informer, kind.GroupKind()),
			controller.Watches(r.sets.Informer, r.whoMayAdopt),
			controller.Watches(r.pods.Informer, r.whoWaitsFor, ends),
		},
		Workers: workers,
	})
}

// reconciler takes one deployment at a time one step further.
type reconciler struct {
	deployments *informer.Informer[*appsv1.Deployment]
	sets        adopt.Cache[*appsv1.ReplicaSet]
	pods        adopt.Cache[*corev1.Pod]
	hand        *action.Hand
	told        action.Told[Saying]
}

// whoMayAdopt are the deployments that a replicaset without a controller matches.
func (r *reconciler) whoMayAdopt(set *appsv1.ReplicaSet) (requests []controller.Request) {
	if metav1.GetControllerOfNoCopy(set) != nil {
		return nil
	}
	for d := range r.deployments.Indexer().Each("namespace", set.Namespace) {
		if selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil && selector.Matches(labels.Set(set.Labels)) {
			requests = append(requests, informer.KeyOf(d))
		}
	}
	return requests
}

// ends passes pods that have ended: those that recreate their pods wait for that.
var ends = controller.If(func(old, new *corev1.Pod) bool {
	return new == nil || pods.HasEnded(new) && (old == nil || !pods.HasEnded(old))
})

// whoWaitsFor is the deployment of the replicaset of a pod.
func (r *reconciler) whoWaitsFor(pod *corev1.Pod) []controller.Request {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() != setKind {
		return nil
	}
	set, err := r.sets.Lister().Get(pod.Namespace, owner.Name)
	if err != nil || set.UID != owner.UID {
		return nil
	}
	deployment := metav1.GetControllerOfNoCopy(set)
	if deployment == nil || deployment.Kind != kind.Kind {
		return nil
	}
	return []controller.Request{{Namespace: pod.Namespace, Name: deployment.Name}}
}

// Reconcile takes a deployment one step further.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	d, err := r.deployments.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		r.told.Forget(request)
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	result, err := r.hand.Do(ctx, Decide(r.see(d))...)
	if errors.Is(err, action.ErrBehind) {
		return controller.Result{}, nil
	}
	return result, err
}

// see reads the cache.
func (r *reconciler) see(d *appsv1.Deployment) Seen {
	return Seen{
		Deployment: d, Sets: r.sets.Claimable(d), Pods: r.pods.ControlledBy, Told: &r.told, Now: time.Now(),
		Named: func(name string) *appsv1.ReplicaSet {
			set, _ := r.sets.Indexer().Get(informer.Key{Namespace: d.Namespace, Name: name})
			return set
		},
	}
}
