package cronjob

import (
	"fmt"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// newJob returns the job for a scheduled time.
func newJob(c *batchv1.CronJob, at time.Time) *batchv1.Job {
	template := c.Spec.JobTemplate.DeepCopy()
	annotations := map[string]string{}
	maps.Copy(annotations, template.Annotations)
	annotations[batchv1.CronJobScheduledTimestampAnnotation] = at.In(zone(c)).Format(time.RFC3339)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: jobName(c, at), Namespace: c.Namespace, Labels: template.Labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, kind)},
		},
		Spec: template.Spec,
	}
}

// jobName returns the name of the job for a scheduled time. The name is deterministic, so the server rejects a
// second job for the same time.
func jobName(c *batchv1.CronJob, at time.Time) string {
	return fmt.Sprintf("%s-%d", c.Name, at.Unix()/60)
}

// zone returns the time zone in which a cronjob's times are printed.
func zone(c *batchv1.CronJob) *time.Location {
	if location, err := time.LoadLocation(ptr.Deref(c.Spec.TimeZone, "")); err == nil {
		return location
	}
	return time.UTC
}

// skew is how far the clock of a job's creator may be ahead.
const skew = time.Minute

// scheduledTime returns the scheduled time of a job. scheduled is false for a job that a user has created, for
// example one annotated with a future time, which would stop all runs until then.
func scheduledTime(c *batchv1.CronJob, j *batchv1.Job, now time.Time) (at time.Time, scheduled bool) {
	at, err := time.Parse(time.RFC3339, j.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
	return at, err == nil && j.Name == jobName(c, at) && at.Before(now.Add(skew))
}
