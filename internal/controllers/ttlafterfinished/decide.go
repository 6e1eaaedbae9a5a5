package ttlafterfinished

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/action"
)

// expires reports whether a Job has finished and has a TTL.
func expires(job *batchv1.Job) bool {
	return job.Spec.TTLSecondsAfterFinished != nil && job.DeletionTimestamp == nil && finishedCondition(job) != nil
}

// finishedCondition returns the condition that states that a Job has finished, or nil.
func finishedCondition(job *batchv1.Job) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		c := &job.Status.Conditions[i]
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// decide deletes an expired Job, provided that it has not changed: its TTL may have been extended.
func decide(job *batchv1.Job, now time.Time) ([]action.Action, error) {
	if !expires(job) {
		return nil, nil
	}
	at := finishedCondition(job).LastTransitionTime
	if at.IsZero() {
		return nil, fmt.Errorf("the Job %s/%s has no finish time: its condition %s has no lastTransitionTime",
			job.Namespace, job.Name, finishedCondition(job).Type)
	}
	ttl := time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second
	if remaining := at.Add(ttl).Sub(now); remaining > 0 {
		return []action.Action{action.Requeue{After: remaining}}, nil
	}
	return []action.Action{action.Delete[*batchv1.Job]{
		Resource: jobs, Object: job, IfUnchanged: true, Propagation: metav1.DeletePropagationForeground,
	}}, nil
}
