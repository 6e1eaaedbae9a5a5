package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/controllers/internal/bounded"
)

// A job ends in two steps. A first condition (FailureTarget, SuccessCriteriaMet) states why it will end. A
// second one (Failed, Complete) follows once all pods are gone or counted.

// endCondition returns the condition with the reason why the job ends, or nil while it runs. A condition that is
// already in the status is final.
func (d *Decision) endCondition() *batchv1.JobCondition {
	for _, conditionType := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget} {
		if c := find(d.status.Conditions, conditionType); c != nil && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	for _, pod := range d.tally.pods {
		if d.spec.PodFailurePolicy == nil || !d.spec.failed(pod) {
			continue
		}
		if v := judge(d.spec.PodFailurePolicy, pod); v.message != "" {
			return d.failure(batchv1.JobReasonPodFailurePolicy, v.message)
		}
	}
	switch {
	case d.tally.failures > int(*d.spec.BackoffLimit) || d.tally.restartedTooOften():
		return d.failure(batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
	case d.deadlineExceeded():
		return d.failure(batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
	case d.spec.indexed():
		return d.endingOfIndexes()
	}
	return nil
}

func (d *Decision) endingOfIndexes() *batchv1.JobCondition {
	failed := d.tally.failed.count()
	if limit := d.spec.MaxFailedIndexes; limit != nil && failed > int(*limit) {
		return d.failure(batchv1.JobReasonMaxFailedIndexesExceeded,
			"Job has exceeded the specified maximal number of failed indexes")
	}
	if failed > 0 && failed+d.tally.completed.count() >= d.spec.completions() {
		return d.failure(batchv1.JobReasonFailedIndexes, "Job has failed indexes")
	}
	if message, met := succeeds(d.spec.SuccessPolicy, d.tally.completed, d.spec.completions()); met {
		return d.success(batchv1.JobReasonSuccessPolicy, message)
	}
	return nil
}

func (d *Decision) failure(reason, message string) *batchv1.JobCondition {
	return newCondition(d.Now, batchv1.JobFailureTarget, corev1.ConditionTrue, reason, message)
}

func (d *Decision) success(reason, message string) *batchv1.JobCondition {
	return newCondition(d.Now, batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, reason, message)
}

func newCondition(now time.Time, kind batchv1.JobConditionType, status corev1.ConditionStatus, reason,
	message string) *batchv1.JobCondition {
	at := metav1.NewTime(now)
	return &batchv1.JobCondition{
		Type: kind, Status: status, LastProbeTime: at, LastTransitionTime: at, Reason: reason, Message: message,
	}
}

// deadlineExceeded reports whether the job has exceeded its active deadline. If not, it schedules a
// reconcile for the deadline.
func (d *Decision) deadlineExceeded() bool {
	if d.spec.ActiveDeadlineSeconds == nil || d.spec.suspended() {
		return false
	}
	remaining := bounded.Seconds(*d.spec.ActiveDeadlineSeconds)
	if start := d.status.StartTime; start != nil {
		remaining = start.Add(remaining).Sub(d.Now)
	}
	if remaining > 0 {
		d.requeue = earlier(d.requeue, remaining)
	}
	return remaining <= 0
}

func find(list []batchv1.JobCondition, kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range list {
		if list[i].Type == kind {
			return &list[i]
		}
	}
	return nil
}

// HasEnded returns how a job has ended, Complete or Failed, or the empty string while it has not.
func HasEnded(j *batchv1.Job) batchv1.JobConditionType {
	for _, end := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		if c := find(j.Status.Conditions, end); c != nil && c.Status == corev1.ConditionTrue {
			return end
		}
	}
	return ""
}
