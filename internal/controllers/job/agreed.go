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
	"github.com/bowline-dev/bowline/internal/controllers/action"
	"github.com/bowline-dev/bowline/internal/controllers/pods"
)

// agreed makes sure that the server has a job's pods as they were seen, by one list of their metadata, however many they are. How
// many are to be made follows from all of them, and what is counted twice nobody notices.
type agreed struct {
	job      *batchv1.Job
	selector labels.Selector
	// pods are the job's as they were seen: it must have no other ones.
	pods []*corev1.Pod
	// exact must not have changed since, nor have gone: they are to be counted or deleted.
	exact []*corev1.Pod
	// gone are to be counted now that they are there no more, or wait for it no more.
	gone map[types.UID]bool
}

func (a agreed) String() string {
	return fmt.Sprintf("make sure that there are %d pods, %d of them as they were seen, and that %d are gone",
		len(a.pods), len(a.exact), len(a.gone))
}

func (a agreed) Do(ctx context.Context, by *action.Hand) error {
	return action.Soon(func() error { return a.check(ctx, by) })
}

func (a agreed) check(ctx context.Context, by *action.Hand) error {
	known, exact := map[types.UID]bool{}, map[types.UID]string{}
	for _, pod := range a.pods {
		known[pod.UID] = true
	}
	for _, pod := range a.exact {
		exact[pod.UID] = pod.ResourceVersion
	}
	live := client.Of[*metav1.PartialObjectMetadata](by.Client, pods.Resource)
	for pod, err := range live.All(ctx, a.job.Namespace, metav1.ListOptions{LabelSelector: a.selector.String()}) {
		if err != nil {
			return err
		}
		seen, mustBe := exact[pod.UID]
		switch {
		case a.gone[pod.UID] && isTracked(pod):
			return fmt.Errorf("%w: pod/%s is there", action.ErrBehind, pod.Name)
		case mustBe && seen != pod.ResourceVersion:
			return fmt.Errorf("%w: pod/%s has changed", action.ErrBehind, pod.Name)
		case !known[pod.UID] && !a.gone[pod.UID] && metav1.IsControlledBy(pod, a.job):
			return fmt.Errorf("%w: it does not show pod/%s", action.ErrBehind, pod.Name)
		}
		delete(exact, pod.UID)
	}
	if len(exact) > 0 {
		return fmt.Errorf("%w: %d pods of %s have gone", action.ErrBehind, len(exact), a.job.Name)
	}
	return nil
}
