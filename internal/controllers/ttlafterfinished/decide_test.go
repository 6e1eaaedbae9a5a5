package ttlafterfinished

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDecisions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	finished := func(kind batchv1.JobConditionType, ago time.Duration) batchv1.JobCondition {
		return batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(now.Add(-ago))}
	}
	unfinished := finished(batchv1.JobComplete, time.Hour)
	unfinished.Status = corev1.ConditionFalse
	unknown := finished(batchv1.JobFailed, 0)
	unknown.LastTransitionTime = metav1.Time{}
	for name, test := range map[string]struct {
		ttl       *int32
		condition batchv1.JobCondition
		deleted   bool
		want      string
	}{
		"running":         {ttl: new(int32(60)), want: "[] <nil>"},
		"no TTL":          {condition: finished(batchv1.JobComplete, time.Hour), want: "[] <nil>"},
		"false condition": {ttl: new(int32(60)), condition: unfinished, want: "[] <nil>"},
		"not expired": {ttl: new(int32(60)),
			condition: finished(batchv1.JobComplete, 20*time.Second), want: "[requeue after 40s] <nil>"},
		"expired": {ttl: new(int32(60)), condition: finished(batchv1.JobComplete, time.Minute),
			want: "[delete job/j] <nil>"},
		"failed, TTL 0": {ttl: new(int32(0)), condition: finished(batchv1.JobFailed, 0),
			want: "[delete job/j] <nil>"},
		"finish time in the future": {ttl: new(int32(60)), condition: finished(batchv1.JobComplete, -time.Minute),
			want: "[requeue after 2m0s] <nil>"},
		"being deleted": {ttl: new(int32(0)), condition: finished(batchv1.JobComplete, 0), deleted: true,
			want: "[] <nil>"},
		"unknown finish time": {ttl: new(int32(0)), condition: unknown,
			want: "[] the Job default/j has no finish time: its condition Failed has no lastTransitionTime"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "j"}}
			job.Spec.TTLSecondsAfterFinished = test.ttl
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse},
				test.condition}
			if test.deleted {
				job.DeletionTimestamp = &metav1.Time{Time: now}
			}
			actions, err := decide(job, now)
			if got := fmt.Sprintf("%v %v", actions, err); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
