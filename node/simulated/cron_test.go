package simulated_test

import (
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
)

// A job that sleeps for longer than a minute overlaps the next minutes, as the concurrency policies of CronJobs need.
func TestSleepingJobsOverlap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy            batchv1.ConcurrencyPolicy
		command           string
		active, succeeded int
	}{
		{batchv1.AllowConcurrent, "300", 5, 2},
		{batchv1.ForbidConcurrent, "300", 1, 1},
		{batchv1.ReplaceConcurrent, "300", 1, 0},
		{batchv1.ForbidConcurrent, "10", 0, 7},
	} {
		t.Run(string(c.policy)+c.command, func(t *testing.T) {
			t.Parallel()
			bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
				cron := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "work", Namespace: "default"}}
				cron.Spec.Schedule, cron.Spec.ConcurrencyPolicy = "* * * * *", c.policy
				keep := int32(10)
				cron.Spec.SuccessfulJobsHistoryLimit = &keep
				spec := &cron.Spec.JobTemplate.Spec.Template.Spec
				spec.RestartPolicy, spec.NodeName = corev1.RestartPolicyOnFailure, "node-0"
				spec.Containers = []corev1.Container{{Name: "work", Image: "busybox", Command: []string{"sleep", c.command}}}
				if _, err := bowlinetest.Client[*batchv1.CronJob](t, p).Create(t.Context(), cron,
					metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(7*time.Minute + 30*time.Second)))
				synctest.Wait()
				got, err := bowlinetest.Client[*batchv1.CronJob](t, p).Get(t.Context(), "default", "work")
				if err != nil {
					t.Fatal(err)
				}
				jobs, err := bowlinetest.Client[*batchv1.Job](t, p).List(t.Context(), "default", metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				succeeded := 0
				for _, job := range jobs.Items {
					succeeded += int(job.Status.Succeeded)
				}
				if len(got.Status.Active) != c.active || succeeded != c.succeeded {
					t.Errorf("got %d active jobs and %d that succeeded, want %d and %d", len(got.Status.Active), succeeded,
						c.active, c.succeeded)
				}
			}, nodes(1, 0), bowlinetest.With(func(o *bowline.Options) { o.Controllers = []string{"cronjob", "job"} }))
		})
	}
}
