package job

import (
	"math"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A job ends in two steps. A first condition (FailureTarget, SuccessCriteriaMet) states why it will end. A
// second one (Failed, Complete) follows once all pods are gone or counted.

// ending returns why the job ends, or nil while it runs. A reason already in the status is final.
func (d *Decision) ending() *batchv1.JobCondition {
	for _, before := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget} {
		if c := find(d.status.Conditions, before); c != nil && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	for _, pod := range d.pods {
		if d.spec.PodFailurePolicy == nil || !d.failed(pod) {
			continue
		}
		if v := judge(d.spec.PodFailurePolicy, pod); v.message != "" {
			return d.failure(batchv1.JobReasonPodFailurePolicy, v.message)
		}
	}
	switch {
	case d.failures > int(*d.spec.BackoffLimit) || d.restartedTooOften():
		return d.failure(batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
	case d.deadlineExceeded():
		return d.failure(batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
	case d.indexed():
		return d.endingOfIndexes()
	}
	return nil
}

func (d *Decision) endingOfIndexes() *batchv1.JobCondition {
	lost := d.lost.count()
	if limit := d.spec.MaxFailedIndexes; limit != nil && lost > int(*limit) {
		return d.failure(batchv1.JobReasonMaxFailedIndexesExceeded,
			"Job has exceeded the specified maximal number of failed indexes")
	}
	if lost > 0 && lost+d.done.count() >= d.completions() {
		return d.failure(batchv1.JobReasonFailedIndexes, "Job has failed indexes")
	}
	if message, met := succeeds(d.spec.SuccessPolicy, d.done, d.completions()); met {
		return d.success(batchv1.JobReasonSuccessPolicy, message)
	}
	return nil
}

func (d *Decision) failure(reason, message string) *batchv1.JobCondition {
	return d.condition(batchv1.JobFailureTarget, corev1.ConditionTrue, reason, message)
}

func (d *Decision) success(reason, message string) *batchv1.JobCondition {
	return d.condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, reason, message)
}

func (d *Decision) condition(kind batchv1.JobConditionType, status corev1.ConditionStatus, reason,
	message string) *batchv1.JobCondition {
	now := metav1.NewTime(d.Now)
	return &batchv1.JobCondition{
		Type: kind, Status: status, LastProbeTime: now, LastTransitionTime: now, Reason: reason, Message: message,
	}
}

// restartedTooOften reports whether container restarts by the node reached the backoff limit; they count like
// failed pods.
func (d *Decision) restartedTooOften() bool {
	if d.spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	restarts := int32(0)
	for _, pod := range d.pods {
		if pod.Status.Phase != corev1.PodRunning && pod.Status.Phase != corev1.PodPending {
			continue
		}
		for _, c := range pod.Status.InitContainerStatuses {
			restarts += c.RestartCount
		}
		for _, c := range pod.Status.ContainerStatuses {
			restarts += c.RestartCount
		}
	}
	return restarts > 0 && restarts >= *d.spec.BackoffLimit
}

// deadlineExceeded reports whether the job has exceeded its active deadline. If not, late schedules a reconcile for the
// deadline.
func (d *Decision) deadlineExceeded() bool {
	if d.spec.ActiveDeadlineSeconds == nil || d.suspended() {
		return false
	}
	left := time.Duration(min(*d.spec.ActiveDeadlineSeconds, math.MaxInt64/int64(time.Second))) * time.Second
	if d.status.StartTime != nil {
		left -= d.Now.Sub(d.status.StartTime.Time)
	}
	if left > 0 {
		d.requeueAfter(left)
	}
	return left <= 0
}

// requeueAfter schedules a reconcile after the delay, unless an earlier one is scheduled.
func (d *Decision) requeueAfter(after time.Duration) {
	if d.requeue == 0 || after < d.requeue {
		d.requeue = after
	}
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
