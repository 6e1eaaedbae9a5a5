package job

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// addLeftover adds the controller that removes the tracking finalizer from pods that will never be counted,
// because their job is gone or has ended or because they have no job. The finalizer would block their
// deletion forever.
func addLeftover(m *controller.Manager, r *reconciler) *controller.Controller {
	tracked := controller.If(func(_, now *corev1.Pod) bool { return now != nil && isTracked(now) })
	jobEnded := controller.If(func(_, now *batchv1.Job) bool { return now == nil || HasEnded(now) != "" })
	return m.Add(controller.Options{
		Name:       Name + "-leftover",
		Reconciler: controller.Func(r.release),
		Sources: []controller.Source{controller.For(r.pods.Informer, tracked),
			controller.Watches(r.jobs, r.podsOf, jobEnded)},
		Workers: workers,
	})
}

// podsOf returns the tracked pods of a job that has ended or is gone.
func (r *reconciler) podsOf(j *batchv1.Job) (requests []controller.Request) {
	for _, pod := range r.pods.ControlledBy(j.UID) {
		if isTracked(pod) {
			requests = append(requests, informer.KeyOf(pod))
		}
	}
	return requests
}

// release removes the tracking finalizer from a pod unless its job will count it.
func (r *reconciler) release(ctx context.Context, request controller.Request) (controller.Result, error) {
	pod, exists := r.pods.Indexer().Get(request)
	if !exists || !isTracked(pod) {
		return controller.Result{}, nil
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		counted, err := r.mayBeCounted(ctx, pod, owner)
		if err != nil || counted {
			return controller.Result{}, err
		}
	}
	// Conditional on the resource version: a pod that had no controller may since have been adopted by a job,
	// which counts it.
	_, err := r.executor.Do(ctx, release(pod, map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion}))
	if apierrors.IsConflict(err) { // the cache will show the change
		return controller.Result{}, nil
	}
	return controller.Result{}, err
}

// mayBeCounted reports whether a pod's controller is, or may be, a job that will count it. It returns false only
// after it has asked the server.
func (r *reconciler) mayBeCounted(ctx context.Context, pod *corev1.Pod,
	owner *metav1.OwnerReference) (counted bool, err error) {
	if schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind) != kind {
		return true, nil
	}
	willCount := func(j *batchv1.Job) bool { return j.UID == owner.UID && (HasEnded(j) == "" || isManagedElsewhere(j)) }
	if j, exists := r.jobs.Indexer().Get(informer.Key{Namespace: pod.Namespace, Name: owner.Name}); exists &&
		willCount(j) {
		return true, nil
	}
	err = action.RetryIfSlow(func() error {
		j, err := client.Of[*batchv1.Job](r.executor.Client, resource).Get(ctx, pod.Namespace, owner.Name)
		counted = err == nil && willCount(j)
		if err = action.ClassifyNotFound(err, resource, owner.Name); action.IsGone(err) {
			return nil
		}
		return err
	})
	return counted, err
}
