package ttlafterfinished_test

import (
	"context"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/ttlafterfinished"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestFaultsDeleteNoRetainedJob(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, finishing(trial.Of(ttlafterfinished.Add).Once()))
}

func TestTwoControllersDeleteOnlyExpiredJobs(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, finishing(trial.Of(ttlafterfinished.Add).Twice()))
}

// finishing is the scenario of three finished jobs of which two are not to be deleted in the end.
func finishing(processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone()},
		Processes:  processes,
		Act:        extendTTLs,
		Settle:     5 * time.Minute,
		Invariants: []func(bowlinetest.State) error{changedTTLRetainsJobs},
		Budget:     30,
	}
}

// extendTTLs creates three finished jobs with a TTL of a minute. Two seconds before it expires, the TTL
// of longer is extended to a day, and that of forever is removed.
func extendTTLs(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	jobs := client.For[*batchv1.Job](c)
	for _, name := range []string{"brief", "longer", "forever"} {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
		j.Spec.TTLSecondsAfterFinished = new(int32(60))
		j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		j.Spec.Template.Spec.Containers = []corev1.Container{{Name: "work", Image: "work:1"}}
		if j, err = jobs.Create(ctx, j, metav1.CreateOptions{}); err != nil {
			return err
		}
		now := metav1.Now()
		j.Status.StartTime = &now
		for _, kind := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed} {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{
				Type: kind, Status: corev1.ConditionTrue, Reason: "Failed", LastTransitionTime: now,
			})
		}
		if _, err := jobs.UpdateStatus(ctx, j, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	time.Sleep(58 * time.Second)
	for name, ttl := range map[string]string{"longer": "86400", "forever": "null"} {
		patch := []byte(`{"spec":{"ttlSecondsAfterFinished":` + ttl + `}}`)
		if _, err := jobs.Patch(ctx, "default", name, "", types.MergePatchType, patch,
			metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// changedTTLRetainsJobs fails if a job is deleted whose TTL was changed.
func changedTTLRetainsJobs(s bowlinetest.State) error {
	for _, j := range s.Kind("Job") {
		ttl, is := j.Object["spec"].(map[string]any)["ttlSecondsAfterFinished"]
		if j.GetDeletionTimestamp() != nil && (!is || ttl != int64(60)) {
			return errors.New(j.GetName() + " is deleted although its TTL was changed")
		}
	}
	return nil
}
