// Package daemonset is the controller that has a pod of a template on each node, or on each that the template is for: what
// collects logs, watches over the node or brings its network up. It says itself which node a pod is for, and leaves it to the
// scheduler to bring it there. Another template goes from node to node, with what was before kept as revisions.
//
// decide.go is what it does, of nothing but what was seen; place.go says which nodes, node.go what about one, roll.go how another
// template comes to them, status.go how far that is. This file reads the cache and carries it out.
package daemonset

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
const Name = "daemonset"

// workers is how many sets are worked on at a time.
const workers = 2

var (
	kind          = appsv1.SchemeGroupVersion.WithKind("DaemonSet")
	resource      = appsv1.SchemeGroupVersion.WithResource("daemonsets")
	nodesResource = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	r := &reconciler{
		sets:      informer.For[*appsv1.DaemonSet](m.Informers(), resource),
		nodes:     informer.For[*corev1.Node](m.Informers(), nodesResource),
		pods:      adopt.CacheOf[*corev1.Pod](m, pods.Resource),
		revisions: adopt.CacheOf[*appsv1.ControllerRevision](m, history.Resource),
		hand:      action.NewHand(m, "daemonset-controller"),
		pauses:    failing.New(),
	}
	moves := controller.If(func(old, now *corev1.Node) bool { return old == nil || now == nil || !samePlace(old, now) })
	return m.Add(controller.Options{
		Name:       Name,
		Reconciler: r,
		Sources: []controller.Source{
			controller.For(r.sets),
			controller.Owns(r.pods.Informer, kind.GroupKind()),
			controller.Watches(r.pods.Informer, func(pod *corev1.Pod) []controller.Request { return r.whoMayAdopt(pod) }),
			controller.Owns(r.revisions.Informer, kind.GroupKind()),
			controller.Watches(r.revisions.Informer, func(rev *appsv1.ControllerRevision) []controller.Request { return r.whoMayAdopt(rev) }),
			controller.Watches(r.nodes, func(*corev1.Node) []controller.Request { return r.all() }, moves),
		},
		Workers: workers,
	})
}

// reconciler keeps the pods of one set at a time.
type reconciler struct {
	sets      *informer.Informer[*appsv1.DaemonSet]
	nodes     *informer.Informer[*corev1.Node]
	pods      adopt.Cache[*corev1.Pod]
	revisions adopt.Cache[*appsv1.ControllerRevision]
	hand      *action.Hand
	pauses    *failing.Pauses
	told      action.Told[appsv1.DaemonSetStatus]
}

// all are the sets that there are: each may be for a node that has come or become another.
func (r *reconciler) all() (requests []controller.Request) {
	for set := range r.sets.Indexer().All() {
		requests = append(requests, informer.KeyOf(set))
	}
	return requests
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
func (r *reconciler) report(ctx context.Context, set *appsv1.DaemonSet, plan Plan, failure error) (controller.Result, error) {
	request, result := informer.KeyOf(set), controller.Result{RequeueAfter: plan.Again}
	if equality.Semantic.DeepEqual(plan.Status, set.Status) {
		return result, failure
	}
	if wait := r.told.Wait(request, set.Status, plan.Status); wait > 0 {
		return controller.Result{RequeueAfter: wait}, failure
	}
	set = set.DeepCopy()
	set.Status = plan.Status
	_, err := r.hand.Do(ctx, action.Update[*appsv1.DaemonSet]{In: resource, Object: set, Subresource: "status"})
	if err == nil {
		r.told.Said(request, plan.Status)
	}
	return result, cmp.Or(failure, err)
}

// see reads the cache.
func (r *reconciler) see(set *appsv1.DaemonSet) Seen {
	nodes := slices.Clone(r.nodes.Indexer().List())
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	return Seen{
		Set: set, Nodes: nodes, Pods: r.pods.Claimable(set), Revisions: r.revisions.Claimable(set), Pauses: r.pauses, Now: time.Now(),
		Pod: func(name string) *corev1.Pod {
			pod, _ := r.pods.Indexer().Get(informer.Key{Namespace: set.Namespace, Name: name})
			return pod
		},
		Revision: func(name string) *appsv1.ControllerRevision {
			revision, _ := r.revisions.Indexer().Get(informer.Key{Namespace: set.Namespace, Name: name})
			return revision
		},
	}
}
