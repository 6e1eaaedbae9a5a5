// Package replicaset implements the ReplicaSet controller, which maintains a number of equal pods. It creates
// missing pods from the template, deletes surplus ones, adopts matching pods without a controller, and
// releases pods that no longer match.
//
// Decide, in decide.go, is a pure function of the observed state; obstacle.go and pod_loss.go slow down the
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
	"github.com/bowline-dev/bowline/internal/controllers/internal/podlimit"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podloss"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Name is the controller's name in --controllers.
const Name = "replicaset"

var (
	resource       = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	deploymentKind = schema.GroupKind{Group: "apps", Kind: "Deployment"}
)

// Add adds the controller to a manager.
func Add(m *controller.Manager) *controller.Controller {
	return AddKind(m, Config[*appsv1.ReplicaSet]{
		Name: Name, Component: "replicaset-controller", In: resource,
		Kind: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
		Set: func(r *appsv1.ReplicaSet) (Set, error) {
			selector, err := metav1.LabelSelectorAsSelector(r.Spec.Selector)
			return Set{
				Replicas: int(ptr.Deref(r.Spec.Replicas, 1)), MinReady: r.Spec.MinReadySeconds,
				Selector: selector, Template: &r.Spec.Template, Status: r.Status, CountsTerminating: true,
			}, err
		},
		WithStatus: func(r *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus) *appsv1.ReplicaSet {
			r = r.DeepCopy()
			r.Status = status
			return r
		},
	})
}

// Config configures the controller for a kind.
type Config[T client.Object] struct {
	Name, Component string
	In              schema.GroupVersionResource
	Kind            schema.GroupVersionKind
	// Set converts an object. The controller sets Object, Kind and In of the result.
	Set func(T) (Set, error)
	// WithStatus returns a copy of an object with another status.
	WithStatus func(T, appsv1.ReplicaSetStatus) T
}

// workers is the number of sets reconciled concurrently.
const workers = 5

// AddKind adds a controller of a kind to a manager.
func AddKind[T client.Object](m *controller.Manager, config Config[T]) *controller.Controller {
	sets, all := informer.For[T](m.Informers(), config.In), ownership.NewCache[*corev1.Pod](m, pods.Resource)
	r := &reconciler[T]{
		Config: config, sets: sets, pods: all, limits: podlimit.NewGroup(sets, all, deploymentKind),
		executor: action.NewExecutor(m, config.Component),
		losses:   lossTracker{losses: map[controller.Request]PodLoss{}},
	}
	return m.Add(controller.Options{
		Name:       config.Name,
		Reconciler: r,
		Sources: []controller.Source{
			controller.For(sets),
			controller.Owns(r.pods.Informer, config.Kind.GroupKind()),
			controller.Watches(r.pods.Informer, r.matchingSets),
		},
		Workers: workers,
	})
}

// reconciler reconciles one kind of sets.
type reconciler[T client.Object] struct {
	Config[T]
	sets     *informer.Informer[T] // indexed by owner, for limits
	pods     ownership.Cache[*corev1.Pod]
	limits   podlimit.Group[T]
	executor *action.Executor

	losses   lossTracker
	statuses action.StatusBackoff[appsv1.ReplicaSetStatus]
}

// matchingSets returns requests for the sets whose selector matches a pod that has no controller.
func (k *reconciler[T]) matchingSets(pod *corev1.Pod) (requests []controller.Request) {
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
func (k *reconciler[T]) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	obj, err := k.sets.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		k.losses.delete(request)
		k.statuses.Delete(request)
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
	observed := k.observe(set, obj)
	controller.Note(ctx, "%d pods, want %d", len(observed.active()), set.Replicas)
	if _, err := k.executor.Do(ctx, Claim(observed)...); err != nil {
		return controller.Result{}, err
	}
	observed.Loss = k.losses.update(request, observed, func(pod *corev1.Pod) string {
		return podloss.Describe(pod, observed.Selector, k.matchingSetNames(pod))
	})
	failure := k.createOrDelete(ctx, observed, obj)
	if errors.Is(failure, action.ErrStaleCache) {
		return controller.Result{}, nil
	}
	return k.updateStatus(ctx, observed, obj, failure)
}

// createOrDelete creates or deletes pods.
func (k *reconciler[T]) createOrDelete(ctx context.Context, observed Observed, obj T) error {
	actions := Decide(observed)
	if len(actions) == 0 {
		return nil
	}
	preconditions := []action.Precondition{action.Unchanged[T]{Resource: k.In, Objects: []T{obj}}}
	switch count := len(observed.active()); {
	case count < observed.Replicas && k.needsCheck(observed):
		preconditions = append(preconditions, observed.allObserved())
	// the choice depends on the state and the number of all pods
	case count > observed.Replicas && observed.Replicas > 0:
		preconditions = append(preconditions,
			action.DependentsUnchanged[*corev1.Pod]{Resource: pods.Resource, Owner: obj,
				Selector: observed.Selector, Objects: observed.Pods})
	}
	_, err := k.executor.Do(ctx, action.Guard{Preconditions: preconditions, Then: actions})
	return err
}

// needsCheck reports whether the server has to be asked before pods are created or deleted: the set has been changed,
// or another controller writes its status, so that the cache may be stale. No check is needed for a new set's first
// pods: their names are the same for every controller.
func (k *reconciler[T]) needsCheck(observed Observed) bool {
	return observed.Object.GetGeneration() > 1 ||
		!k.statuses.IsLastWritten(informer.KeyOf(observed.Object), observed.Status)
}

// updateStatus updates the status if it has changed.
func (k *reconciler[T]) updateStatus(ctx context.Context, observed Observed, obj T,
	failure error) (controller.Result, error) {
	reported, request := failure, informer.KeyOf(obj)
	cause, refusal := observed.obstacle(), observed.limit().Refusal
	switch {
	case reported != nil:
	case cause != nil:
		reported = cause
	case refusal != nil:
		reported = refusal
	}
	status, recheckAfter := Report(observed, reported)
	if equality.Semantic.DeepEqual(status, observed.Status) {
		return controller.Result{RequeueAfter: recheckAfter}, failure
	}
	if wait := k.statuses.Delay(request, observed.Status, status); wait > 0 {
		return controller.Result{RequeueAfter: wait}, failure
	}
	var actions []action.Action
	if status.ObservedGeneration != observed.Status.ObservedGeneration && k.needsCheck(observed) ||
		!k.statuses.IsLastWritten(request, observed.Status) {
		// Other controllers, such as the Deployment controller, wait for the new status and create or delete
		// pods because of it.
		actions = append(actions, observed.allObserved())
	}
	actions = append(actions, action.Update[T]{Resource: k.In, Object: k.WithStatus(obj, status),
		Subresource: "status"})
	if failure == nil && reported != nil &&
		!equality.Semantic.DeepEqual(status.Conditions, observed.Status.Conditions) {
		switch {
		case cause != nil:
			actions = append(actions, action.Event{Object: obj, Warning: true, Reason: cause.reason(),
				Message: cause.Error()})
		default:
			actions = append(actions, refusal.Event(obj))
		}
	}
	_, err := k.executor.Do(ctx, actions...)
	if errors.Is(err, action.ErrStaleCache) {
		return controller.Result{}, failure
	}
	if err == nil {
		k.statuses.Written(request, status)
	}
	return controller.Result{RequeueAfter: recheckAfter}, cmp.Or(failure, err)
}

// allObserved returns the precondition that all pods of the set were observed.
func (s Observed) allObserved() action.DependentUIDsUnchanged[*corev1.Pod] {
	return action.DependentUIDsUnchanged[*corev1.Pod]{Resource: pods.Resource, Owner: s.Object, Selector: s.Selector,
		Objects: s.Pods}
}

// matchingSetNames returns the names of the sets of this kind that match a pod.
func (k *reconciler[T]) matchingSetNames(pod *corev1.Pod) (names []string) {
	for obj := range k.sets.Indexer().Each("namespace", pod.Namespace) {
		if set, err := k.Set(obj); err == nil && set.Selector.Matches(labels.Set(pod.Labels)) {
			names = append(names, strings.ToLower(k.Kind.Kind)+"/"+obj.GetName())
		}
	}
	slices.Sort(names)
	return names
}

// observe reads the caches.
func (k *reconciler[T]) observe(set Set, obj T) Observed {
	s := Observed{Set: set, Pods: k.pods.Claimable(obj), Now: time.Now(), NameTaken: func(name string) bool {
		_, exists := k.pods.Indexer().Get(informer.Key{Namespace: obj.GetNamespace(), Name: name})
		return exists
	}}
	s.Claims = ClaimsOf(set, s.Pods)
	switch count := len(s.active()); {
	case count > set.Replicas:
		s.Related = k.related(obj)
	case count < set.Replicas:
		s.Usage = k.limits.Usage(obj, s.Now)
	}
	return s
}

// related returns the pods of all sets that have the same controller.
func (k *reconciler[T]) related(obj client.Object) (related []*corev1.Pod) {
	for _, uid := range k.siblings(obj) {
		related = append(related, k.pods.ControlledBy(uid)...)
	}
	return related
}

func (k *reconciler[T]) siblings(obj client.Object) []types.UID {
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
