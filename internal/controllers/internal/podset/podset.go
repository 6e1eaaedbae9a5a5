// Package podset provides the reconciler that the controllers of StatefulSets and DaemonSets share: it maps
// changes to sets, reads the caches, carries out the controller's decision, and writes the status.
package podset

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
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/history"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
	"github.com/bowline-dev/bowline/internal/controllers/internal/podbackoff"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Observed is the state that a decision about a set is based on.
type Observed[T client.Object] struct {
	Set T
	// Pods are the pods of the namespace that the set controls or that have no controller; so are Revisions.
	Pods      []*corev1.Pod
	Revisions []*appsv1.ControllerRevision
	// Pod and Revision return an object of the namespace by name, or nil. They may return objects that were
	// created after Pods and Revisions were read.
	Pod      func(name string) *corev1.Pod
	Revision func(name string) *appsv1.ControllerRevision
	// Backoff delays the replacement of failing pods.
	Backoff *podbackoff.Tracker
	Now     time.Time
}

// Plan is a decision about a set. Its actions run only if the set has not changed. Apply runs only after
// Claim has succeeded; the status is written even if Apply failed.
type Plan[Status any] struct {
	// Claim adopts and releases pods and revisions, and records the template as a revision.
	Claim []action.Action
	// Apply creates and deletes pods and related objects, and prunes revisions. If it depends on more than
	// the set, its first action checks that once: later checks would fail because of its own writes.
	Apply  []action.Action
	Status Status
	// RequeueAfter is when the decision changes without an event; 0 means never.
	RequeueAfter time.Duration
}

// Config describes the kind of sets that a controller reconciles.
type Config[T client.Object, Status any] struct {
	// Name is the controller's name, Component the source of its events.
	Name, Component string
	Resource        schema.GroupVersionResource
	Kind            schema.GroupVersionKind
	// Workers is the number of sets reconciled concurrently.
	Workers int
	// Selector returns the selector of a set. Status returns a pointer to its status.
	Selector func(T) *metav1.LabelSelector
	Status   func(T) *Status
	// Decide decides what to do about a set. Its errors are terminal: the request is not retried.
	Decide func(Observed[T]) (Plan[Status], error)
}

// Add adds a controller to a manager. It reconciles a set when the set, its pods, its revisions, or the
// additional sources change.
func Add[T client.Object, Status any](
	m *controller.Manager, config Config[T, Status], sources ...controller.Source,
) *controller.Controller {
	k := &reconciler[T, Status]{
		Config:    config,
		sets:      informer.For[T](m.Informers(), config.Resource),
		pods:      ownership.NewCache[*corev1.Pod](m, pods.Resource),
		revisions: ownership.NewCache[*appsv1.ControllerRevision](m, history.Resource),
		executor:  action.NewExecutor(m, config.Component),
		backoff:   podbackoff.New(),
	}
	return m.Add(controller.Options{
		Name:       config.Name,
		Reconciler: k,
		Sources: slices.Concat([]controller.Source{
			controller.For(k.sets),
			controller.Owns(k.pods.Informer, config.Kind.GroupKind()),
			controller.Watches(k.pods.Informer, func(pod *corev1.Pod) []controller.Request {
				return k.matchingSets(pod)
			}),
			controller.Owns(k.revisions.Informer, config.Kind.GroupKind()),
			controller.Watches(k.revisions.Informer, func(r *appsv1.ControllerRevision) []controller.Request {
				return k.matchingSets(r)
			}),
		}, sources),
		Workers: config.Workers,
	})
}

// reconciler reconciles one kind of sets.
type reconciler[T client.Object, Status any] struct {
	Config[T, Status]
	sets      *informer.Informer[T]
	pods      ownership.Cache[*corev1.Pod]
	revisions ownership.Cache[*appsv1.ControllerRevision]
	executor  *action.Executor
	backoff   *podbackoff.Tracker
	statuses  action.StatusBackoff[Status]
}

// matchingSets returns requests for the sets whose selector matches an object that has no controller.
func (k *reconciler[T, Status]) matchingSets(obj client.Object) (requests []controller.Request) {
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

// Reconcile carries out the decision about a set and writes its status.
func (k *reconciler[T, Status]) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	set, err := k.sets.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		k.statuses.Delete(request)
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	plan, err := k.Decide(k.observe(set))
	if err != nil {
		return controller.Result{}, controller.Terminal(err)
	}
	// the set may have changed since it was cached
	unchanged := []action.Precondition{action.Unchanged[T]{Resource: k.Resource, Objects: []T{set}}}
	if _, err := k.executor.Do(ctx, action.Guard{Preconditions: unchanged, Then: plan.Claim}); errors.Is(err,
		action.ErrStaleCache) {
		return controller.Result{}, nil
	} else if err != nil {
		return controller.Result{}, err
	}
	_, failure := k.executor.Do(ctx, action.Guard{Preconditions: unchanged, Then: plan.Apply})
	if errors.Is(failure, action.ErrStaleCache) {
		return controller.Result{}, nil
	}
	return k.updateStatus(ctx, set, plan, failure)
}

// updateStatus writes the status of the plan if it differs from the current one.
func (k *reconciler[T, Status]) updateStatus(ctx context.Context, set T, plan Plan[Status],
	failure error) (controller.Result, error) {
	request, result, current := informer.KeyOf(set), controller.Result{RequeueAfter: plan.RequeueAfter}, *k.Status(set)
	if equality.Semantic.DeepEqual(plan.Status, current) {
		return result, failure
	}
	if wait := k.statuses.Delay(request, current, plan.Status); wait > 0 {
		return controller.Result{RequeueAfter: wait}, failure
	}
	set = set.DeepCopyObject().(T)
	*k.Status(set) = plan.Status
	_, err := k.executor.Do(ctx, action.Update[T]{Resource: k.Resource, Object: set, Subresource: "status"})
	if err == nil {
		k.statuses.Written(request, plan.Status)
	}
	return result, cmp.Or(failure, err)
}

// observe reads the caches.
func (k *reconciler[T, Status]) observe(set T) Observed[T] {
	key := func(name string) informer.Key { return informer.Key{Namespace: set.GetNamespace(), Name: name} }
	return Observed[T]{
		Set: set, Pods: k.pods.Claimable(set), Revisions: k.revisions.Claimable(set), Backoff: k.backoff,
		Now: time.Now(),
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
