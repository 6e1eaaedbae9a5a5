package job

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
)

// verifiedPods verifies that the server has a job's pods as they were observed, with one list of their metadata
// however many there are. The number of pods to create depends on all of them, and a pod counted twice would
// go unnoticed.
type verifiedPods struct {
	job      *batchv1.Job
	selector labels.Selector
	// pods are the observed pods of the job; the server must have no others.
	pods []*corev1.Pod
	// exact must exist unchanged: they are about to be counted or deleted.
	exact []*corev1.Pod
	// gone are about to be moved to the counts; they must be deleted or without the tracking finalizer.
	gone map[types.UID]bool
}

func (a verifiedPods) String() string {
	return fmt.Sprintf("check that %d pods exist, %d of them unchanged, and that %d do not exist",
		len(a.pods), len(a.exact), len(a.gone))
}

func (a verifiedPods) Do(ctx context.Context, exec *action.Executor) error {
	return action.RetryIfSlow(func() error { return a.check(ctx, exec) })
}

func (a verifiedPods) check(ctx context.Context, exec *action.Executor) error {
	observed, exact := map[types.UID]bool{}, map[types.UID]string{}
	for _, pod := range a.pods {
		observed[pod.UID] = true
	}
	for _, pod := range a.exact {
		exact[pod.UID] = pod.ResourceVersion
	}
	live := client.Of[*metav1.PartialObjectMetadata](exec.Client, pods.Resource)
	for pod, err := range live.All(ctx, a.job.Namespace, metav1.ListOptions{LabelSelector: a.selector.String()}) {
		if err != nil {
			return err
		}
		version, isExact := exact[pod.UID]
		switch {
		case a.gone[pod.UID] && isTracked(pod):
			return fmt.Errorf("%w: pod/%s exists", action.ErrStaleCache, pod.Name)
		case isExact && version != pod.ResourceVersion:
			return fmt.Errorf("%w: pod/%s has changed", action.ErrStaleCache, pod.Name)
		case !observed[pod.UID] && !a.gone[pod.UID] && metav1.IsControlledBy(pod, a.job):
			return fmt.Errorf("%w: it does not show pod/%s", action.ErrStaleCache, pod.Name)
		}
		delete(exact, pod.UID)
	}
	if len(exact) > 0 {
		return fmt.Errorf("%w: %d pods of %s no longer exist", action.ErrStaleCache, len(exact), a.job.Name)
	}
	return nil
}
