package job

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controllers/action"
	"github.com/bowline-dev/bowline/controllers/pods"
)

// released makes sure that the pods with these uids, which the cache does not show, are gone, or counted.
type released struct {
	job      *batchv1.Job
	selector labels.Selector
	uids     []types.UID
}

func (r released) String() string { return fmt.Sprintf("make sure that %d pods are gone", len(r.uids)) }

func (r released) Do(ctx context.Context, by *action.Hand) error {
	return action.Soon(func() error {
		page, err := client.Of[*metav1.PartialObjectMetadata](by.Client, pods.Resource).List(ctx, r.job.Namespace,
			metav1.ListOptions{LabelSelector: r.selector.String()})
		if err != nil {
			return err
		}
		for _, pod := range page.Items {
			if slices.Contains(r.uids, pod.UID) && slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
				return fmt.Errorf("%w: pod/%s is there", action.ErrBehind, pod.Name)
			}
		}
		return nil
	})
}
