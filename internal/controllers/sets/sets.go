// Package sets is the shell that the controllers of StatefulSets and DaemonSets share: it knows whom a change concerns, reads the
// caches, carries out what a controller decides, and writes the status. What is decided is theirs, and package history's.
package sets

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
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/adopt"
	"github.com/bowline-dev/bowline/internal/controllers/failing"
	"github.com/bowline-dev/bowline/internal/controllers/history"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// Seen is what a decision about a set is made of.
type Seen[T client.Object] struct {
	Set T
	// Pods are those that the set controls and those that nobody does, in its namespace; and so are Revisions.
	Pods      []*corev1.Pod
	Revisions []*appsv1.ControllerRevision
	// Pod and Revision are those of the namespace with a name, or nil. They may have come since Pods and Revisions were looked at.
	Pod      func(name string) *corev1.Pod
	Revision func(name string) *appsv1.ControllerRevision
	// Pauses space out what is done about pods that fail.
	Pauses *failing.Pauses
	Now    time.Time
}

// Plan is what to do about a set, as long as it is as it was seen. Claim must have succeeded before Keep; the status is written
// whatever became of that.
type Plan[Status any] struct {
	// Claim says whose pods and revisions are whose, and writes the template down.
	Claim []action.Action
	// Keep makes and deletes pods, and what belongs to them, and forgets templates. What it follows from besides the set it asks
	// first, and once, since its own writes change the answer.
	Keep   []action.Action
	Status Status
	// Again is when something will be otherwise although nothing happens; 0 for never.
	Again time.Duration
}

// Kept is a kind of sets.
type Kept[T client.Object, Status any] struct {
	// Name is the controller's, Component what tells of its events.
	Name, Component string
	In              schema.GroupVersionResource
	Kind            schema.GroupVersionKind
	// Workers is how many sets are worked on at a time.
	Workers int
	// Selector and Status are where those stand in a set.
	Selector func(T) *metav1.LabelSelector
	Status   func(T) *Status
	// Decide says what to do. What it fails with no second try would mend.
	Decide func(Seen[T]) (Plan[Status], error)
}

// Keep adds the controller of a kind to a manager. It is asked to look at sets by their own changes, by those of their pods and
// revisions, and by the sources.
func Keep[T client.Object, Status any](
	m *controller.Manager, kept Kept[T, Status], sources ...controller.Source,
) *controller.Controller {
	k := &keeper[T, Status]{
		Kept:      kept,
		sets:      informer.For[T](m.Informers(), kept.In),
		pods:      adopt.CacheOf[*corev1.Pod](m, pods.Resource),
		revisions: adopt.CacheOf[*appsv1.ControllerRevision](m, history.Resource),
		hand:      action.NewHand(m, kept.Component),
		pauses:    failing.New(),
	}
	return m.Add(controller.Options{
		Name:       kept.Name,
		Reconciler: k,
		Sources: slices.Concat([]controller.Source{
			controller.For(k.sets),
			controller.Owns(k.pods.Informer, kept.Kind.GroupKind()),
			controller.Watches(k.pods.Informer, func(pod *corev1.Pod) []controller.Request { return k.whoMayAdopt(pod) }),
			controller.Owns(k.revisions.Informer, kept.Kind.GroupKind()),
			controller.Watches(k.revisions.Informer, func(r *appsv1.ControllerRevision) []controller.Request { return k.whoMayAdopt(r) }),
		}, sources),
		Workers: kept.Workers,
	})
}

// keeper keeps the pods of one set at a time.
type keeper[T client.Object, Status any] struct {
	Kept[T, Status]
	sets      *informer.Informer[T]
	pods      adopt.Cache[*corev1.Pod]
	revisions adopt.Cache[*appsv1.ControllerRevision]
	hand      *action.Hand
	pauses    *failing.Pauses
	told      action.Told[Status]
}

// whoMayAdopt are the sets that an object without a controller matches.
func (k *keeper[T, Status]) whoMayAdopt(obj client.Object) (requests []controller.Request) {
	if metav1.GetControllerOfNoCopy(obj) != nil {
		return nil
	}
	for set := range k.sets.Indexer().Each("namespace", obj.GetNamespace()) {
		selector, err := metav1.LabelSelectorAsSelector(k.Selector(set))
		if err == nil && selector.Matches(labels.Set(obj.GetLabels())) {
			requests = append(requests, informer.KeyOf(set))
		}
	}
	return requests
}

// Reconcile goes from what is to what should be, as far as that can be done now.
func (k *keeper[T, Status]) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	set, err := k.sets.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		k.told.Forget(request)
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	plan, err := k.Decide(k.see(set))
	if err != nil {
		return controller.Result{}, controller.Terminal(err)
	}
	asks := []action.Question{action.Current[T]{In: k.In, Objects: []T{set}}} // it may be another one by now
	if _, err := k.hand.Do(ctx, action.Sure{Asks: asks, Then: plan.Claim}); errors.Is(err, action.ErrBehind) {
		return controller.Result{}, nil
	} else if err != nil {
		return controller.Result{}, err
	}
	_, failure := k.hand.Do(ctx, action.Sure{Asks: asks, Then: plan.Keep})
	if errors.Is(failure, action.ErrBehind) {
		return controller.Result{}, nil
	}
	return k.report(ctx, set, plan, failure)
}

// report writes the status, if that is not what stands there.
func (k *keeper[T, Status]) report(ctx context.Context, set T, plan Plan[Status], failure error) (controller.Result, error) {
	request, result, stands := informer.KeyOf(set), controller.Result{RequeueAfter: plan.Again}, *k.Status(set)
	if equality.Semantic.DeepEqual(plan.Status, stands) {
		return result, failure
	}
	if wait := k.told.Wait(request, stands, plan.Status); wait > 0 {
		return controller.Result{RequeueAfter: wait}, failure
	}
	set = set.DeepCopyObject().(T)
	*k.Status(set) = plan.Status
	_, err := k.hand.Do(ctx, action.Update[T]{In: k.In, Object: set, Subresource: "status"})
	if err == nil {
		k.told.Said(request, plan.Status)
	}
	return result, cmp.Or(failure, err)
}

// see reads the caches.
func (k *keeper[T, Status]) see(set T) Seen[T] {
	key := func(name string) informer.Key { return informer.Key{Namespace: set.GetNamespace(), Name: name} }
	return Seen[T]{
		Set: set, Pods: k.pods.Claimable(set), Revisions: k.revisions.Claimable(set), Pauses: k.pauses, Now: time.Now(),
		Pod: func(name string) *corev1.Pod {
			pod, _ := k.pods.Indexer().Get(key(name))
			return pod
		},
		Revision: func(name string) *appsv1.ControllerRevision {
			revision, _ := k.revisions.Indexer().Get(key(name))
			return revision
		},
	}
}
