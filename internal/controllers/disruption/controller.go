// Package disruption is the controller that counts how many pods of a PodDisruptionBudget may be taken away. Who evicts a pod
// asks the server, which looks at that count, takes one off and notes the pod in the budget's status; here it is counted anew
// whenever pods change.
//
// decide.go is the count, of nothing but what was seen; scale.go is how many pods there should be, which their controllers know;
// stale.go takes back what an eviction that came to nothing said of a pod. This file reads the cache and writes.
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
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// Name of the controller, as --controllers takes it.
const Name = "disruption"

// component tells of its events, in Kubernetes' name for it.
const component = "controllermanager"

// workers is how many budgets are counted at a time, and hesitation how long a count of somebody else's stands, and how soon to
// count again what the cache shows late.
const (
	workers    = 2
	hesitation = time.Second
)

var resource = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")

// Add adds the controller to a manager, and the one that takes back what was said of pods that were not evicted.
func Add(m *controller.Manager) *controller.Controller {
	hand := action.NewHand(m, component)
	r := &reconciler{
		budgets: informer.For[*policyv1.PodDisruptionBudget](m.Informers(), resource),
		pods:    informer.For[*corev1.Pod](m.Informers(), pods.Resource),
		scales:  newScales(m),
		hand:    hand,
	}
	addStale(m, r.pods, hand)
	return m.Add(controller.Options{
		Name:       Name,
		Reconciler: r,
		Sources: []controller.Source{
			controller.For(r.budgets, controller.GenerationChanged),
			controller.WatchesLater(r.budgets, hesitation, func(b *policyv1.PodDisruptionBudget) []controller.Request {
				return []controller.Request{informer.KeyOf(b)}
			}),
			controller.Watches(r.pods, func(pod *corev1.Pod) []controller.Request {
				return r.selecting(pod.Namespace, pod.Labels)
			}, controller.If(counts)),
			made(r, r.scales.deployments, func(d *appsv1.Deployment) *corev1.PodTemplateSpec { return &d.Spec.Template }),
			made(r, r.scales.replicaSets, func(s *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &s.Spec.Template }),
			made(r, r.scales.statefulSets, func(s *appsv1.StatefulSet) *corev1.PodTemplateSpec { return &s.Spec.Template }),
			made(r, r.scales.controllers, func(c *corev1.ReplicationController) *corev1.PodTemplateSpec { return c.Spec.Template }),
		},
		Workers: workers,
	})
}

// reconciler counts for one budget at a time.
type reconciler struct {
	budgets *informer.Informer[*policyv1.PodDisruptionBudget]
	pods    *informer.Informer[*corev1.Pod]
	scales  *scales
	hand    *action.Hand
	fights  Fights
}

// counts passes changes of a pod that a budget counts.
func counts(old, now *corev1.Pod) bool {
	return old == nil || now == nil || pods.IsReady(old) != pods.IsReady(now) || !maps.Equal(old.Labels, now.Labels) ||
		(old.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) || !equality.Semantic.DeepEqual(old.OwnerReferences, now.OwnerReferences)
}

// made watches what makes pods of a template, for how many of them there should be.
func made[T client.Object](r *reconciler, i *informer.Informer[T], template func(T) *corev1.PodTemplateSpec) controller.Source {
	return controller.Watches(i, func(obj T) []controller.Request {
		if t := template(obj); t != nil {
			return r.selecting(obj.GetNamespace(), t.Labels)
		}
		return nil
	}, controller.GenerationChanged)
}

// selecting are the budgets that select pods with these labels.
func (r *reconciler) selecting(namespace string, of map[string]string) (requests []controller.Request) {
	for budget := range r.budgets.Indexer().Each("namespace", namespace) {
		if selectorOf(budget).Matches(labels.Set(of)) {
			requests = append(requests, informer.KeyOf(budget))
		}
	}
	return requests
}

// selectorOf is what a budget is about. One whose selector cannot be read is about no pods.
func selectorOf(budget *policyv1.PodDisruptionBudget) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// Reconcile counts.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	budget, err := r.budgets.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	actions, failed := Decide(r.see(ctx, budget))
	result, err := r.hand.Do(ctx, actions...)
	if errors.Is(err, action.ErrBehind) {
		return controller.Result{RequeueAfter: hesitation}, nil
	}
	return result, cmp.Or(err, failed)
}

// see reads the cache.
func (r *reconciler) see(ctx context.Context, budget *policyv1.PodDisruptionBudget) Seen {
	s := Seen{
		Budget: budget, Now: time.Now(), Fights: &r.fights,
		Scale:  func(pod *corev1.Pod) (Scale, error) { return r.scales.of(ctx, pod) },
		Wanted: r.scales.now,
		Stays:  func(pod *corev1.Pod) bool { return r.stays(ctx, pod) },
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

// stays asks the server whether a pod is as the cache shows it: there, and not being deleted.
func (r *reconciler) stays(ctx context.Context, pod *corev1.Pod) bool {
	is, err := client.Of[*metav1.PartialObjectMetadata](r.hand.Client, pods.Resource).Get(ctx, pod.Namespace, pod.Name)
	return err == nil && is.UID == pod.UID && is.DeletionTimestamp == nil
}
