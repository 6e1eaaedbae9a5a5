package cronjob

import (
	"fmt"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// newJob makes the job of a time.
func newJob(c *batchv1.CronJob, at time.Time) *batchv1.Job {
	template := c.Spec.JobTemplate.DeepCopy()
	annotations := map[string]string{}
	maps.Copy(annotations, template.Annotations)
	annotations[batchv1.CronJobScheduledTimestampAnnotation] = at.In(zone(c)).Format(time.RFC3339)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: nameOf(c, at), Namespace: c.Namespace, Labels: template.Labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, kind)},
		},
		Spec: template.Spec,
	}
}

// nameOf is the name of the job of a time: with it the server refuses a second one.
func nameOf(c *batchv1.CronJob, at time.Time) string {
	return fmt.Sprintf("%s-%d", c.Name, at.Unix()/60)
}

// zone is where the times of a cronjob are told.
func zone(c *batchv1.CronJob) *time.Location {
	if location, err := time.LoadLocation(ptr.Deref(c.Spec.TimeZone, "")); err == nil {
		return location
	}
	return time.UTC
}

// skew is how far ahead the clock may be of who has made a job.
const skew = time.Minute

// timeOf is the time that a job was made for; false where it is none that the schedule has asked for, but a user, as for a time
// that is yet to come: nothing would run until then.
func timeOf(c *batchv1.CronJob, j *batchv1.Job, now time.Time) (at time.Time, scheduled bool) {
	at, err := time.Parse(time.RFC3339, j.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
	return at, err == nil && j.Name == nameOf(c, at) && at.Before(now.Add(skew))
}
