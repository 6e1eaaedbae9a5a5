// Package replicaset is the controller that keeps a number of equal pods: those that a ReplicaSet controls. Too few, and it
// makes more of the template; too many, and it deletes those that are the least loss. A pod that matches the selector and
// belongs to nobody is adopted, one that matches no more is released.
//
// decide.go is what it does, of nothing but what was seen; trouble.go is how it keeps from doing the same without end. This
// file reads the cache, carries it out, and writes the status. Package replicationcontroller is the same for that older kind.
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
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/adopt"
	"github.com/bowline-dev/bowline/internal/controllers/failing"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// Name of the controller, as --controllers takes it.
const Name = "replicaset"

var resource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	return Keep(m, Kept[*appsv1.ReplicaSet]{
		Name: Name, Component: "replicaset-controller", In: resource, Kind: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
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

// Kept is a kind whose objects keep pods.
type Kept[T client.Object] struct {
	Name, Component string
	In              schema.GroupVersionResource
	Kind            schema.GroupVersionKind
	// Set reads an object: all but what Kept has.
	Set func(T) (Set, error)
	// WithStatus is a copy of an object with another status.
	WithStatus func(T, appsv1.ReplicaSetStatus) T
}

// workers is how many sets are worked on at a time.
const workers = 5

// Keep adds a controller that keeps the pods of a kind.
func Keep[T client.Object](m *controller.Manager, kept Kept[T]) *controller.Controller {
	sets := informer.For[T](m.Informers(), kept.In)
	sets.Indexer().AddHeadIndex("owner", informer.ByOwner)
	k := &keeper[T]{
		Kept: kept, sets: sets, pods: adopt.CacheOf[*corev1.Pod](m, pods.Resource), hand: action.NewHand(m, kept.Component),
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

// keeper keeps the pods of one set at a time.
type keeper[T client.Object] struct {
	Kept[T]
	sets *informer.Informer[T]
	pods adopt.Cache[*corev1.Pod]
	hand *action.Hand

	fights fights
	told   action.Told[appsv1.ReplicaSetStatus]
}

// whoMayAdopt are the sets that a pod without a controller matches.
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

// Reconcile goes from what is to what should be, as far as that can be done now.
func (k *keeper[T]) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	obj, err := k.sets.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		k.fights.over(request)
		k.told.Forget(request)
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
		return failing.Lost(pod, seen.Selector, k.whoTakes(pod))
	})
	failure := k.keep(ctx, seen, obj)
	if errors.Is(failure, action.ErrBehind) {
		return controller.Result{}, nil
	}
	return k.report(ctx, seen, obj, failure)
}

// keep makes pods, or deletes some.
func (k *keeper[T]) keep(ctx context.Context, seen Seen, obj T) error {
	keep := Decide(seen)
	if len(keep) == 0 {
		return nil
	}
	sure := []action.Question{action.Current[T]{In: k.In, Objects: []T{obj}}}
	switch has := len(seen.mine()); {
	case has < seen.Replicas && k.mayErr(seen):
		sure = append(sure, seen.known())
	case has > seen.Replicas && seen.Replicas > 0: // which ones go follows from what all are like, and how many there are
		sure = append(sure, action.Same[*corev1.Pod]{In: pods.Resource, Owner: obj, Selector: seen.Selector, Objects: seen.Pods})
	}
	_, err := k.hand.Do(ctx, action.Sure{Asks: sure, Then: keep})
	return err
}

// mayErr says that a cache that is behind does harm: the set has been changed, or others tell of it too. The names of the first
// pods of a set are those that anybody would give them.
func (k *keeper[T]) mayErr(seen Seen) bool {
	return seen.Object.GetGeneration() > 1 || !k.told.Alone(informer.KeyOf(seen.Object), seen.Status)
}

// report writes the status, if that is not what stands there.
func (k *keeper[T]) report(ctx context.Context, seen Seen, obj T, failure error) (controller.Result, error) {
	told, request, trouble := failure, informer.KeyOf(obj), seen.trouble()
	if told == nil && trouble != nil {
		told = trouble
	}
	status, again := Report(seen, told)
	if equality.Semantic.DeepEqual(status, seen.Status) {
		return controller.Result{RequeueAfter: again}, failure
	}
	if wait := k.told.Wait(request, seen.Status, status); wait > 0 {
		return controller.Result{RequeueAfter: wait}, failure
	}
	var report []action.Action
	if status.ObservedGeneration != seen.Status.ObservedGeneration && k.mayErr(seen) || !k.told.Alone(request, seen.Status) {
		// Who waits for it, as a deployment does, makes and deletes other pods by what it is told about these.
		report = append(report, seen.known())
	}
	report = append(report, action.Update[T]{In: k.In, Object: k.WithStatus(obj, status), Subresource: "status"})
	if failure == nil && trouble != nil && len(status.Conditions) > len(seen.Status.Conditions) {
		report = append(report, action.Event{About: obj, Warning: true, Reason: trouble.reason(), Message: trouble.Error()})
	}
	_, err := k.hand.Do(ctx, report...)
	if errors.Is(err, action.ErrBehind) {
		return controller.Result{}, failure
	}
	if err == nil {
		k.told.Said(request, status)
	}
	return controller.Result{RequeueAfter: again}, cmp.Or(failure, err)
}

// known makes sure that all pods of the set were seen.
func (s Seen) known() action.Known[*corev1.Pod] {
	return action.Known[*corev1.Pod]{In: pods.Resource, Owner: s.Object, Selector: s.Selector, Objects: s.Pods}
}

// whoTakes are the sets of this kind that match a pod.
func (k *keeper[T]) whoTakes(pod *corev1.Pod) (names []string) {
	for obj := range k.sets.Indexer().Each("namespace", pod.Namespace) {
		if set, err := k.Set(obj); err == nil && set.Selector.Matches(labels.Set(pod.Labels)) {
			names = append(names, strings.ToLower(k.Kind.Kind)+"/"+obj.GetName())
		}
	}
	slices.Sort(names)
	return names
}

// see reads the cache.
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

// related are the pods of all sets with the same controller.
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
