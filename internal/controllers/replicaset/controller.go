// Package replicaset implements the ReplicaSet controller, which maintains a number of equal pods. It creates
// missing pods from the template, deletes surplus ones, adopts matching pods without a controller, and
// releases pods that no longer match.
//
// Decide, in decide.go, is a pure function of the observed state; trouble.go and fight.go slow down the
// creation of pods that do not last. This file reads the caches, carries out the decision, and writes the
// status. Package replicationcontroller uses it for the older kind.
package replicaset

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podloss"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Name is the controller's name in --controllers.
const Name = "replicaset"

var resource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	return Keep(m, Kept[*appsv1.ReplicaSet]{
		Name: Name, Component: "replicaset-controller", In: resource,
		Kind: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
		Set: func(r *appsv1.ReplicaSet) (Set, error) {
			selector, err := metav1.LabelSelectorAsSelector(r.Spec.Selector)
			return Set{
				Replicas: int(ptr.Deref(r.Spec.Replicas, 1)), MinReady: r.Spec.MinReadySeconds,
				Selector: selector, Template: &r.Spec.Template, Status: r.Status, CountsEnding: true,
			}, err
		},
		WithStatus: func(r *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus) *appsv1.ReplicaSet {
			r = r.DeepCopy()
			r.Status = status
			return r
		},
	})
}

// Kept configures the controller for a kind.
type Kept[T client.Object] struct {
	Name, Component string
	In              schema.GroupVersionResource
	Kind            schema.GroupVersionKind
	// Set converts an object, without the fields that Kept provides.
	Set func(T) (Set, error)
	// WithStatus returns a copy of an object with another status.
	WithStatus func(T, appsv1.ReplicaSetStatus) T
}

// workers is the number of sets reconciled concurrently.
const workers = 5

// Keep adds a controller of a kind to a manager.
func Keep[T client.Object](m *controller.Manager, kept Kept[T]) *controller.Controller {
	sets := informer.For[T](m.Informers(), kept.In)
	sets.Indexer().AddHeadIndex("owner", informer.ByOwner)
	k := &keeper[T]{
		Kept: kept, sets: sets, pods: ownership.NewCache[*corev1.Pod](m, pods.Resource),
		hand:   action.NewExecutor(m, kept.Component),
		fights: fights{of: map[controller.Request]Fight{}},
	}
	return m.Add(controller.Options{
		Name:       kept.Name,
		Reconciler: k,
		Sources: []controller.Source{
			controller.For(sets),
			controller.Owns(k.pods.Informer, kept.Kind.GroupKind()),
			controller.Watches(k.pods.Informer, k.whoMayAdopt),
		},
		Workers: workers,
	})
}

// keeper reconciles one kind of sets.
type keeper[T client.Object] struct {
	Kept[T]
	sets *informer.Informer[T]
	pods ownership.Cache[*corev1.Pod]
	hand *action.Executor

	fights fights
	told   action.StatusBackoff[appsv1.ReplicaSetStatus]
}

// whoMayAdopt returns requests for the sets whose selector matches a pod that has no controller.
func (k *keeper[T]) whoMayAdopt(pod *corev1.Pod) (requests []controller.Request) {
	if metav1.GetControllerOfNoCopy(pod) != nil {
		return nil
	}
	for obj := range k.sets.Indexer().Each("namespace", pod.Namespace) {
		if set, err := k.Set(obj); err == nil && set.Selector.Matches(labels.Set(pod.Labels)) {
			requests = append(requests, informer.KeyOf(obj))
		}
	}
	return requests
}

// Reconcile creates or deletes pods of a set and writes its status.
func (k *keeper[T]) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	obj, err := k.sets.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		k.fights.over(request)
		k.told.Delete(request)
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	set, err := k.Set(obj)
	if err != nil {
		return controller.Result{}, controller.Terminal(err)
	}
	set.Object, set.Kind, set.In = obj, k.Kind, k.In
	seen := k.see(set)
	controller.Note(ctx, "%d pods, should be %d", len(seen.mine()), set.Replicas)
	if _, err := k.hand.Do(ctx, Claim(seen)...); err != nil {
		return controller.Result{}, err
	}
	seen.Fight = k.fights.after(request, seen, func(pod *corev1.Pod) string {
		return podloss.Describe(pod, seen.Selector, k.whoTakes(pod))
	})
	failure := k.keep(ctx, seen, obj)
	if errors.Is(failure, action.ErrStaleCache) {
		return controller.Result{}, nil
	}
	return k.report(ctx, seen, obj, failure)
}

// keep creates or deletes pods.
func (k *keeper[T]) keep(ctx context.Context, seen Seen, obj T) error {
	keep := Decide(seen)
	if len(keep) == 0 {
		return nil
	}
	sure := []action.Precondition{action.Unchanged[T]{Resource: k.In, Objects: []T{obj}}}
	switch has := len(seen.mine()); {
	case has < seen.Replicas && k.mayErr(seen):
		sure = append(sure, seen.known())
	case has > seen.Replicas && seen.Replicas > 0: // the choice depends on the state and the number of all pods
		sure = append(sure, action.DependentsUnchanged[*corev1.Pod]{Resource: pods.Resource, Owner: obj,
			Selector: seen.Selector, Objects: seen.Pods})
	}
	_, err := k.hand.Do(ctx, action.Guard{Preconditions: sure, Then: keep})
	return err
}

// mayErr reports whether acting on a stale cache could do harm, which is so if the set has been changed or
// another controller writes its status. The names of a new set's first pods are the same for every
// controller.
func (k *keeper[T]) mayErr(seen Seen) bool {
	return seen.Object.GetGeneration() > 1 || !k.told.IsLastWritten(informer.KeyOf(seen.Object), seen.Status)
}

// report updates the status if it has changed.
func (k *keeper[T]) report(ctx context.Context, seen Seen, obj T, failure error) (controller.Result, error) {
	told, request, trouble := failure, informer.KeyOf(obj), seen.trouble()
	if told == nil && trouble != nil {
		told = trouble
	}
	status, again := Report(seen, told)
	if equality.Semantic.DeepEqual(status, seen.Status) {
		return controller.Result{RequeueAfter: again}, failure
	}
	if wait := k.told.Delay(request, seen.Status, status); wait > 0 {
		return controller.Result{RequeueAfter: wait}, failure
	}
	var report []action.Action
	if status.ObservedGeneration != seen.Status.ObservedGeneration && k.mayErr(seen) ||
		!k.told.IsLastWritten(request, seen.Status) {
		// Other controllers, such as the Deployment controller, wait for the new status and create or delete
		// pods because of it.
		report = append(report, seen.known())
	}
	report = append(report, action.Update[T]{Resource: k.In, Object: k.WithStatus(obj, status), Subresource: "status"})
	if failure == nil && trouble != nil && len(status.Conditions) > len(seen.Status.Conditions) {
		report = append(report, action.Event{Object: obj, Warning: true, Reason: trouble.reason(),
			Message: trouble.Error()})
	}
	_, err := k.hand.Do(ctx, report...)
	if errors.Is(err, action.ErrStaleCache) {
		return controller.Result{}, failure
	}
	if err == nil {
		k.told.Written(request, status)
	}
	return controller.Result{RequeueAfter: again}, cmp.Or(failure, err)
}

// known returns the precondition that all pods of the set were observed.
func (s Seen) known() action.DependentUIDsUnchanged[*corev1.Pod] {
	return action.DependentUIDsUnchanged[*corev1.Pod]{Resource: pods.Resource, Owner: s.Object, Selector: s.Selector,
		Objects: s.Pods}
}

// whoTakes returns the names of the sets of this kind that match a pod.
func (k *keeper[T]) whoTakes(pod *corev1.Pod) (names []string) {
	for obj := range k.sets.Indexer().Each("namespace", pod.Namespace) {
		if set, err := k.Set(obj); err == nil && set.Selector.Matches(labels.Set(pod.Labels)) {
			names = append(names, strings.ToLower(k.Kind.Kind)+"/"+obj.GetName())
		}
	}
	slices.Sort(names)
	return names
}

// see reads the caches.
func (k *keeper[T]) see(set Set) Seen {
	obj := set.Object
	s := Seen{Set: set, Pods: k.pods.Claimable(obj), Now: time.Now(), Taken: func(name string) bool {
		_, taken := k.pods.Indexer().Get(informer.Key{Namespace: obj.GetNamespace(), Name: name})
		return taken
	}}
	s.Claims = ClaimsOf(set, s.Pods)
	if len(s.mine()) > set.Replicas {
		s.Related = k.related(obj)
	}
	return s
}

// related returns the pods of all sets that have the same controller.
func (k *keeper[T]) related(obj client.Object) (related []*corev1.Pod) {
	for _, uid := range k.siblings(obj) {
		related = append(related, k.pods.ControlledBy(uid)...)
	}
	return related
}

func (k *keeper[T]) siblings(obj client.Object) []types.UID {
	owner := metav1.GetControllerOfNoCopy(obj)
	if owner == nil {
		return []types.UID{obj.GetUID()}
	}
	var all []types.UID
	for sibling := range k.sets.Indexer().Each("owner", string(owner.UID)) {
		all = append(all, sibling.GetUID())
	}
	return all
}
