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
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/cronjob"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestFaultsOverlapNoJobs(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, overlapping(batchv1.ForbidConcurrent, trial.Of(cronjob.Add).Once()))
}

func TestTwoControllersOverlapNoJobs(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, overlapping(batchv1.ForbidConcurrent, trial.Of(cronjob.Add).Twice()))
}

func TestFaultsOverlapNoReplacedJobs(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, overlapping(batchv1.ReplaceConcurrent, trial.Of(cronjob.Add).Once()))
}

func TestTwoControllersOverlapNoReplacedJobs(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, overlapping(batchv1.ReplaceConcurrent, trial.Of(cronjob.Add).Twice()))
}

// overlapping is the scenario of a cronjob whose jobs do not end, and which allows one job at a time.
func overlapping(policy batchv1.ConcurrencyPolicy, processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:        []bowlinetest.Option{trial.Alone()},
		Processes:      processes,
		Act:            lateRun(policy),
		Settle:         5 * time.Minute,
		PeriodicWrites: policy == batchv1.ReplaceConcurrent, // creates a job every minute
		Invariants:     []func(bowlinetest.State) error{oneAtATime},
		Compare:        ignoreState, // a late controller creates no job, or another one
		Skip:           trial.Events,
		Budget:         20,
	}
}

// ignoreState is a Scenario.Compare that ignores the final state.
func ignoreState(bowlinetest.State) bowlinetest.State { return bowlinetest.State{} }

// lateRun resumes a cronjob seconds before the next run, so that the previous run is made up for, and
// suspends it after that.
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

// oneAtATime fails if there is more than one job.
func oneAtATime(s bowlinetest.State) error {
	if n := len(s.Kind("Job")); n > 1 {
		return fmt.Errorf("got %d jobs, want at most 1", n)
	}
	return nil
}
