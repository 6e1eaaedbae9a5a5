// Package disruption implements the controller that computes how many pods of a PodDisruptionBudget may be
// evicted. The server checks that number on each eviction, decrements it and notes the pod in the budget's
// status; this controller recomputes it whenever pods change.
//
// decide.go computes the status from what was observed, without I/O; scale.go determines how many pods their
// controllers want; stale.go resets the DisruptionTarget condition of pods that were not evicted after all.
// This file reads the cache and writes.
package disruption

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Name is the controller's name, as the --controllers flag accepts it.
const Name = "disruption"

// component is the source of the controller's events, as in Kubernetes.
const component = "controllermanager"

// workers is the number of budgets reconciled concurrently. statusDelay is how long another writer's status
// stands before it is recomputed, and the retry delay if the cache is behind.
const (
	workers     = 2
	statusDelay = time.Second
)

var resource = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")

// Add adds the controller to a manager, together with the one that resets stale DisruptionTarget conditions.
func Add(m *controller.Manager) *controller.Controller {
	executor := action.NewExecutor(m, component)
	r := &reconciler{
		budgets:  informer.For[*policyv1.PodDisruptionBudget](m.Informers(), resource),
		pods:     informer.For[*corev1.Pod](m.Informers(), pods.Resource),
		scales:   newScales(m),
		executor: executor,
	}
	addStale(m, r.pods, executor)
	return m.Add(controller.Options{
		Name:       Name,
		Reconciler: r,
		Sources: []controller.Source{
			controller.For(r.budgets, controller.GenerationChanged),
			controller.WatchesLater(r.budgets, statusDelay, func(b *policyv1.PodDisruptionBudget) []controller.Request {
				return []controller.Request{informer.KeyOf(b)}
			}),
			controller.Watches(r.pods, func(pod *corev1.Pod) []controller.Request {
				return r.budgetsSelecting(pod.Namespace, pod.Labels)
			}, controller.If(affectsBudgets)),
			watchCreators(r, r.scales.deployments, func(d *appsv1.Deployment) *corev1.PodTemplateSpec {
				return &d.Spec.Template
			}),
			watchCreators(r, r.scales.replicaSets, func(s *appsv1.ReplicaSet) *corev1.PodTemplateSpec {
				return &s.Spec.Template
			}),
			watchCreators(r, r.scales.statefulSets, func(s *appsv1.StatefulSet) *corev1.PodTemplateSpec {
				return &s.Spec.Template
			}),
			watchCreators(r, r.scales.controllers, func(c *corev1.ReplicationController) *corev1.PodTemplateSpec {
				return c.Spec.Template
			}),
		},
		Workers: workers,
	})
}

// reconciler reconciles one budget per request.
type reconciler struct {
	budgets  *informer.Informer[*policyv1.PodDisruptionBudget]
	pods     *informer.Informer[*corev1.Pod]
	scales   *scales
	executor *action.Executor
	reported ReportedPods
}

// affectsBudgets reports whether a pod change affects a budget's status.
func affectsBudgets(old, now *corev1.Pod) bool {
	return old == nil || now == nil || pods.IsReady(old) != pods.IsReady(now) || !maps.Equal(old.Labels, now.Labels) ||
		(old.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) ||
		!equality.Semantic.DeepEqual(old.OwnerReferences, now.OwnerReferences)
}

// watchCreators watches the objects that create pods, whose replica counts affect budgets.
func watchCreators[T client.Object](r *reconciler, i *informer.Informer[T],
	template func(T) *corev1.PodTemplateSpec) controller.Source {
	return controller.Watches(i, func(obj T) []controller.Request {
		if t := template(obj); t != nil {
			return r.budgetsSelecting(obj.GetNamespace(), t.Labels)
		}
		return nil
	}, controller.GenerationChanged)
}

// budgetsSelecting returns the budgets that select pods with the given labels.
func (r *reconciler) budgetsSelecting(namespace string, podLabels map[string]string) (requests []controller.Request) {
	for budget := range r.budgets.Indexer().Each("namespace", namespace) {
		if selectorOf(budget).Matches(labels.Set(podLabels)) {
			requests = append(requests, informer.KeyOf(budget))
		}
	}
	return requests
}

// selectorOf returns a budget's selector. An invalid one selects no pods.
func selectorOf(budget *policyv1.PodDisruptionBudget) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// Reconcile recomputes a budget's status.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	budget, err := r.budgets.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	actions, failed := Decide(r.observe(ctx, budget))
	result, err := r.executor.Do(ctx, actions...)
	if errors.Is(err, action.ErrStaleCache) {
		return controller.Result{RequeueAfter: statusDelay}, nil
	}
	return result, cmp.Or(err, failed)
}

// observe assembles the input of a decision from the cache.
func (r *reconciler) observe(ctx context.Context, budget *policyv1.PodDisruptionBudget) Input {
	s := Input{
		Budget: budget, Now: time.Now(), Reported: &r.reported,
		Scale:     func(pod *corev1.Pod) (Scale, error) { return r.scales.cachedScale(ctx, pod) },
		LiveScale: r.scales.liveScale,
		Exists:    func(pod *corev1.Pod) bool { return r.exists(ctx, pod) },
	}
	selector := selectorOf(budget)
	for pod := range r.pods.Indexer().Each("namespace", budget.Namespace) {
		if selector.Matches(labels.Set(pod.Labels)) {
			s.Pods = append(s.Pods, pod)
		}
	}
	slices.SortFunc(s.Pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for other := range r.budgets.Indexer().Each("namespace", budget.Namespace) {
		if other.Name != budget.Name {
			s.Others = append(s.Others, selectorOf(other))
		}
	}
	return s
}

// exists asks the server whether a pod still exists and is not being deleted.
func (r *reconciler) exists(ctx context.Context, pod *corev1.Pod) bool {
	live, err := client.Of[*metav1.PartialObjectMetadata](r.executor.Client, pods.Resource).Get(ctx, pod.Namespace,
		pod.Name)
	return err == nil && live.UID == pod.UID && live.DeletionTimestamp == nil
}
