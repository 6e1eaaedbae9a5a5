package cronjob_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/cronjob"
)

func TestNoFaultHasTwoJobsAtWork(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, overlapping(batchv1.ForbidConcurrent, trial.Of(cronjob.Add).Once()))
}

func TestTwoControllersAtOnceHaveOneJobAtWork(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, overlapping(batchv1.ForbidConcurrent, trial.Of(cronjob.Add).Twice()))
}

func TestNoFaultHasAJobBesideTheOneThatReplacesIt(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, overlapping(batchv1.ReplaceConcurrent, trial.Of(cronjob.Add).Once()))
}

func TestTwoControllersAtOnceReplaceTheOneJob(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, overlapping(batchv1.ReplaceConcurrent, trial.Of(cronjob.Add).Twice()))
}

// overlapping is a cronjob whose jobs do not end, and of which there is to be one at a time.
func overlapping(policy batchv1.ConcurrencyPolicy, processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone()},
		Processes:  processes,
		Act:        lateRun(policy),
		Settle:     5 * time.Minute,
		Restless:   policy == batchv1.ReplaceConcurrent, // every minute, where nobody stops it
		Invariants: []func(bowlinetest.State) error{oneAtATime},
		Compare:    untold, // who was late has made none, or another one
		Skip:       trial.Events,
		Budget:     20,
	}
}

// untold is a Scenario's Compare where what there is in the end does not matter.
func untold(bowlinetest.State) bowlinetest.State { return bowlinetest.State{} }

// lateRun has the run of a minute be made up for seconds before the next one, and stops after that.
func lateRun(policy batchv1.ConcurrencyPolicy) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		c, err := client.New(config)
		if err != nil {
			return err
		}
		cronJobs := client.For[*batchv1.CronJob](c)
		cj := idle("* * * * *")
		cj.Spec.ConcurrencyPolicy, cj.Spec.Suspend = policy, new(true)
		cj.Spec.JobTemplate.Spec.ManagedBy = new("example.com/nobody")
		if _, err := cronJobs.Create(ctx, cj, metav1.CreateOptions{}); err != nil {
			return err
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + 52*time.Second)))
		if err := suspend(ctx, cronJobs, false); err != nil {
			return err
		}
		time.Sleep(20 * time.Second)
		return suspend(ctx, cronJobs, true)
	}
}

// oneAtATime is broken when a job is made while another one is at work.
func oneAtATime(s bowlinetest.State) error {
	if n := len(s.Kind("Job")); n > 1 {
		return fmt.Errorf("%d jobs are at work", n)
	}
	return nil
}
