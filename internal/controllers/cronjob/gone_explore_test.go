package cronjob_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/cronjob"
	"github.com/bowline-dev/bowline/internal/controllers/garbagecollector"
	"github.com/bowline-dev/bowline/internal/trial"
)

// The jobs of a deleted cronjob are deleted with it. A controller that observes the job's deletion first must
// not report the job as missing.
func TestDeletedCronJobsReportNoMissingJob(t *testing.T) {
	t.Parallel()
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground,
		metav1.DeletePropagationForeground} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			bowlinetest.Explore(t, bowlinetest.Scenario{
				Options: []bowlinetest.Option{trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
					garbagecollector.Add(m)
					return nil
				})},
				Processes: trial.Of(cronjob.Add).Once(),
				Act:       deleteAtWork(policy),
				Settle:    2 * time.Minute,
				Compare:   ignoreState, // the outcome is checked in the events
				Skip:      trial.Events,
				Budget:    20,
			})
		})
	}
}

// deleteAtWork deletes a cronjob that has an active job. It fails if the controller reports the job as
// missing.
func deleteAtWork(policy metav1.DeletionPropagation) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		c, err := client.New(config)
		if err != nil {
			return err
		}
		cronJobs := client.For[*batchv1.CronJob](c)
		cj := idle("* * * * *")
		cj.Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent
		cj.Spec.JobTemplate.Spec.ManagedBy = new("example.com/nobody")
		if _, err := cronJobs.Create(ctx, cj, metav1.CreateOptions{}); err != nil {
			return err
		}
		time.Sleep(90 * time.Second)
		if err := cronJobs.Delete(ctx, "default", "hourly",
			metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
			return err
		}
		time.Sleep(time.Minute)
		missing, err := client.For[*corev1.Event](c).List(ctx, "default",
			metav1.ListOptions{FieldSelector: "reason=MissingJob"})
		if err == nil && len(missing.Items) > 0 {
			err = fmt.Errorf("unexpected event: %s", missing.Items[0].Message)
		}
		return err
	}
}
