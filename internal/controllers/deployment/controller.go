// Package deployment implements the Deployment controller. It creates a ReplicaSet for each template and
// moves pods from the old ReplicaSets to the new one by changing their sizes; it never changes pods itself.
//
// Decide, in decide.go, is a pure function of the observed state. replicasets.go holds the ReplicaSets and their
// changes, limits.go how many pods the Deployment allows, and scale.go distributes a new size. roll.go and
// recreate.go implement the strategies. revision.go finds or creates the ReplicaSet of the template. status.go
// computes the status and progress.go its condition Progressing. rollback.go handles rollbacks requested by old
// clients. This file reads the caches and carries out the decision.
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
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/ownership"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// Name is the controller's name in --controllers.
const Name = "deployment"

// workers is the number of Deployments reconciled concurrently.
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
		sets:        ownership.NewCache[*appsv1.ReplicaSet](m, setsResource),
		pods:        ownership.NewCache[*corev1.Pod](m, pods.Resource),
		executor:    action.NewExecutor(m, "deployment-controller"),
	}
	return m.Add(controller.Options{
		Name:       Name,
		Reconciler: r,
		Sources: []controller.Source{
			controller.For(r.deployments),
			controller.Owns(r.sets.Informer, kind.GroupKind()),
			controller.Watches(r.sets.Informer, r.deploymentsMatching),
			controller.Watches(r.pods.Informer, r.deploymentOf, podEnds),
		},
		Workers: workers,
	})
}

// reconciler carries out one step of a rollout at a time.
type reconciler struct {
	deployments *informer.Informer[*appsv1.Deployment]
	sets        ownership.Cache[*appsv1.ReplicaSet]
	pods        ownership.Cache[*corev1.Pod]
	executor    *action.Executor
	statuses    action.StatusBackoff[WrittenStatus]
}

// deploymentsMatching returns requests for the Deployments whose selector matches a ReplicaSet that has no
// controller.
func (r *reconciler) deploymentsMatching(set *appsv1.ReplicaSet) (requests []controller.Request) {
	if metav1.GetControllerOfNoCopy(set) != nil {
		return nil
	}
	for d := range r.deployments.Indexer().Each("namespace", set.Namespace) {
		if selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil &&
			selector.Matches(labels.Set(set.Labels)) {
			requests = append(requests, informer.KeyOf(d))
		}
	}
	return requests
}

// podEnds passes pods that have terminated or been deleted: the Recreate strategy waits for them.
var podEnds = controller.If(func(old, new *corev1.Pod) bool {
	return new == nil || pods.IsTerminal(new) && (old == nil || !pods.IsTerminal(old))
})

// deploymentOf returns a request for the Deployment that controls the ReplicaSet of a pod.
func (r *reconciler) deploymentOf(pod *corev1.Pod) []controller.Request {
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

// Reconcile carries out the next step of a Deployment's rollout.
func (r *reconciler) Reconcile(ctx context.Context, request controller.Request) (controller.Result, error) {
	d, err := r.deployments.Lister().Get(request.Namespace, request.Name)
	if apierrors.IsNotFound(err) {
		r.statuses.Delete(request)
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, err
	}
	result, err := r.executor.Do(ctx, Decide(r.observe(d))...)
	if errors.Is(err, action.ErrStaleCache) {
		return controller.Result{}, nil
	}
	return result, err
}

// observe reads the caches.
func (r *reconciler) observe(d *appsv1.Deployment) Observed {
	return Observed{
		Deployment: d, Sets: r.sets.Claimable(d), Pods: r.pods.ControlledBy, Written: &r.statuses, Now: time.Now(),
		SetByName: func(name string) *appsv1.ReplicaSet {
			set, _ := r.sets.Indexer().Get(informer.Key{Namespace: d.Namespace, Name: name})
			return set
		},
	}
}
