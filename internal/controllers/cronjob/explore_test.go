package cronjob_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/cronjob"
	"github.com/bowline-dev/bowline/internal/controllers/job"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestFaultsRepeatNoRun(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, hourly(trial.Of(cronjob.Add).Once()))
}

func TestTwoControllersCreateOneJobPerRun(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, hourly(trial.Of(cronjob.Add).Twice()))
}

// hourly is the scenario of a cronjob that runs three times and retains the last job.
func hourly(processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options: []bowlinetest.Option{trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
			job.Add(m)
			return nil
		})},
		Processes:  processes,
		Act:        threeHours,
		Settle:     10 * time.Minute,
		Invariants: []func(bowlinetest.State) error{few},
		Skip:       trial.Events,
		Budget:     30,
	}
}

// threeHours creates a cronjob whose jobs complete immediately, and suspends it after three runs.
func threeHours(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	cronJobs := client.For[*batchv1.CronJob](c)
	cj := idle("0 * * * *")
	cj.Spec.SuccessfulJobsHistoryLimit = new(int32(1))
	if _, err := cronJobs.Create(ctx, cj, metav1.CreateOptions{}); err != nil {
		return err
	}
	time.Sleep(3*time.Hour + 10*time.Minute)
	return suspend(ctx, cronJobs, true)
}

// idle returns a cronjob whose jobs need no completions.
func idle(schedule string) *batchv1.CronJob {
	cj := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "hourly", Namespace: "default"}}
	cj.Spec.Schedule = schedule
	spec := &cj.Spec.JobTemplate.Spec
	spec.Completions = new(int32)
	spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	spec.Template.Spec.Containers = []corev1.Container{{Name: "work", Image: "work:1"}}
	return cj
}

// suspend suspends or resumes the cronjob.
func suspend(ctx context.Context, cronJobs client.Resource[*batchv1.CronJob], stop bool) error {
	patch := fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, stop)
	_, err := cronJobs.Patch(ctx, "default", "hourly", "", types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// few fails if there are more jobs than the retained one and the next.
func few(s bowlinetest.State) error {
	if n := len(s.Kind("Job")); n > 2 {
		return fmt.Errorf("got %d jobs, want at most 2", n)
	}
	return nil
}
