// Package statefulset is the controller of pods that are not alike: each has an ordinal, and with it a name, a host name and claims
// to storage that stay when the pod is made anew. They come in order and go in the reverse order, one after the other, and so does
// another template come to them; what was before is kept as revisions.
//
// decide.go is what it does, of nothing but what was seen: ordinal.go makes the pods, claim.go what they claim, step.go says whose
// turn it is, status.go how far it is. This file reads the cache and carries it out.
//
// Two pods of one ordinal can never be: they would have the same name.
package statefulset

import (
	"cmp"
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/action"
	"github.com/bowline-dev/bowline/controllers/adopt"
	"github.com/bowline-dev/bowline/controllers/failing"
	"github.com/bowline-dev/bowline/controllers/history"
	"github.com/bowline-dev/bowline/controllers/pods"
	"github.com/bowline-dev/bowline/informer"
)

// Name of the controller, as --controllers takes it.
const Name = "statefulset"

// workers is how many sets are worked on at a time.
const workers = 5

var (
	kind     = appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	resource = appsv1.SchemeGroupVersion.WithResource("statefulsets")
)

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	r := &reconciler{
		sets:      informer.For[*appsv1.StatefulSet](m.Informers(), resource),
		pods:      adopt.CacheOf[*corev1.Pod](m, pods.Resource),
		claims:    informer.For[*corev1.PersistentVolumeClaim](m.Informers(), claimsResource),
		revisions: adopt.CacheOf[*appsv1.ControllerRevision](m, history.Resource),
		hand:      action.NewHand(m, "statefulset-controller"),
		pauses:    failing.New(),
	}
	return m.Add(controller.Options{
		Name:       Name,
		Reconciler: r,
		Sources: []controller.Source{
			controller.For(r.sets),
			controller.Owns(r.pods.Informer, kind.GroupKind()),
			controller.Watches(r.pods.Informer, func(pod *corev1.Pod) []controller.Request { return r.whoMayAdopt(pod) }),
			controller.Owns(r.revisions.Informer, kind.GroupKind()),
			controller.Watches(r.revisions.Informer, func(rev *appsv1.ControllerRevision) []controller.Request { return r.whoMayAdopt(rev) }),
			controller.Watches(r.claims, r.whoClaims),
		},
		Workers: workers,
	})
}

// reconciler keeps the pods of one set at a time.
type reconciler struct {
	sets      *informer.Informer[*appsv1.StatefulSet]
	pods      adopt.Cache[*corev1.Pod]
	claims    *informer.Informer[*corev1.PersistentVolumeClaim]
	revisions adopt.Cache[*appsv1.ControllerRevision]
	hand      *action.Hand
	pauses    *failing.Pauses
	told      action.Told[appsv1.StatefulSetStatus]
}

// whoMayAdopt are the sets that an object without a controller matches.
func (r *reconciler) whoMayAdopt(obj client.Object) (requests []controller.Request) {
	if metav1.GetControllerOfNoCopy(obj) != nil {
		return nil
	}
	for set := range r.sets.Indexer().Each("namespace", obj.GetNamespace()) {
		if selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector); err == nil && selector.Matches(labels.Set(obj.GetLabels())) {
			requests = append(requests, informer.KeyOf(set))
		}
	}
	return requests
}

// whoClaims are the sets that a claim may be of.
func (r *reconciler) whoClaims(claim *corev1.PersistentVolumeClaim) (requests []controller.Request) {
	exists := func(set string) bool {
		_, err := r.sets.Lister().Get(claim.Namespace, set)
		return err == nil
	}
	for _, set := range claimsOf(claim.Name, exists) {
		requests = append(requests, controller.Request{Namespace: claim.Namespace, Name: set})
	}
	return requests
}

// Reconcile goes from what is to what should be, as far as that can be done now.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	set, err := r.sets.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		r.told.Forget(request)
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	plan, err := Decide(r.see(set))
	if err != nil {
		return controller.Result{}, controller.Terminal(err)
	}
	if _, err := r.hand.Do(ctx, plan.Claim...); errors.Is(err, action.ErrBehind) {
		return controller.Result{}, nil
	} else if err != nil {
		return controller.Result{}, err
	}
	_, failure := r.hand.Do(ctx, plan.Keep...)
	if errors.Is(failure, action.ErrBehind) {
		return controller.Result{}, nil
	}
	return r.report(ctx, set, plan, failure)
}

// report writes the status, if that is not what stands there.
func (r *reconciler) report(ctx context.Context, set *appsv1.StatefulSet, plan Plan, failure error) (controller.Result, error) {
	request, result := informer.KeyOf(set), controller.Result{RequeueAfter: plan.Again}
	if equality.Semantic.DeepEqual(plan.Status, set.Status) {
		return result, failure
	}
	if wait := r.told.Wait(request, set.Status, plan.Status); wait > 0 {
		return controller.Result{RequeueAfter: wait}, failure
	}
	set = set.DeepCopy()
	set.Status = plan.Status
	_, err := r.hand.Do(ctx, action.Update[*appsv1.StatefulSet]{In: resource, Object: set, Subresource: "status"})
	if err == nil {
		r.told.Said(request, plan.Status)
	}
	return result, cmp.Or(failure, err)
}

// see reads the cache.
func (r *reconciler) see(set *appsv1.StatefulSet) Seen {
	return Seen{
		Set: set, Pods: r.pods.Claimable(set), Revisions: r.revisions.Claimable(set), Pauses: r.pauses, Now: time.Now(),
		Revision: func(name string) *appsv1.ControllerRevision {
			revision, _ := r.revisions.Indexer().Get(informer.Key{Namespace: set.Namespace, Name: name})
			return revision
		},
		Claim: func(name string) *corev1.PersistentVolumeClaim {
			claim, _ := r.claims.Indexer().Get(informer.Key{Namespace: set.Namespace, Name: name})
			return claim
		},
	}
}
