package ttlafterfinished

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/action"
)

// expires says whether a Job has finished, and is not to be kept for ever.
func expires(job *batchv1.Job) bool {
	return job.Spec.TTLSecondsAfterFinished != nil && job.DeletionTimestamp == nil && finish(job) != nil
}

// finish is the condition that says that a Job has finished, or nil.
func finish(job *batchv1.Job) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		c := &job.Status.Conditions[i]
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// decide deletes a Job whose time is over, if nobody has changed it: it may be that it is to be kept longer.
func decide(job *batchv1.Job, now time.Time) ([]action.Action, error) {
	if !expires(job) {
		return nil, nil
	}
	at := finish(job).LastTransitionTime
	if at.IsZero() {
		return nil, fmt.Errorf("nobody knows when the Job %s/%s finished: its condition %s has no lastTransitionTime",
			job.Namespace, job.Name, finish(job).Type)
	}
	kept := time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second
	if left := at.Add(kept).Sub(now); left > 0 {
		return []action.Action{action.Again{After: left}}, nil
	}
	return []action.Action{action.Delete[*batchv1.Job]{
		In: jobs, Object: job, Unchanged: true, Propagation: metav1.DeletePropagationForeground,
	}}, nil
}
