package job_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
	"github.com/bowline-dev/bowline/internal/controllers/job"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestFaultsLeaveNoActivePods(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, ending(trial.Of(job.Add).Once()))
}

func TestTwoControllersLeaveNoActivePods(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, ending(trial.Of(job.Add).Twice()))
}

// ending is the scenario of a job whose first pod fails and which exceeds its deadline soon after the pod was
// replaced.
func ending(processes []bowlinetest.Process) bowlinetest.Scenario {
	s := counting(processes)
	s.Options = []bowlinetest.Option{trial.Alone(), bowlinetest.Manage(trial.Nodes(2*time.Second, onlyFirst))}
	s.Act, s.Settle = hurry, 4*time.Minute
	s.Invariants, s.Compare = []func(bowlinetest.State) error{atWork}, howItEnded
	return s
}

// onlyFirst fails the first pod and lets the others run, so that a controller that misses the event of their
// creation gets no other event.
func onlyFirst(pod *corev1.Pod, all []*corev1.Pod) {
	if !slices.ContainsFunc(all, func(other *corev1.Pod) bool {
		return other.Name < pod.Name || pods.IsTerminal(other)
	}) {
		pod.Status.Phase = corev1.PodFailed
	}
}

// hurry creates a job of three completions, two at a time, and then sets a short deadline.
func hurry(ctx context.Context, config *rest.Config) error {
	if err := work(ctx, config); err != nil {
		return err
	}
	time.Sleep(20 * time.Second)
	c, err := client.New(config)
	if err != nil {
		return err
	}
	patch := []byte(`{"spec":{"activeDeadlineSeconds":1}}`)
	_, err = client.For[*batchv1.Job](c).Patch(ctx, "default", "work", "", types.MergePatchType, patch,
		metav1.PatchOptions{})
	return err
}

// atWork fails if more pods are active than the job allows, or any after the job has ended.
func atWork(s bowlinetest.State) error {
	most := 2
	if j := s.Find("Job", "default", "work"); j != nil && has(j, batchv1.JobFailed) {
		most = 0
	}
	active := 0
	for _, pod := range s.Kind("Pod") {
		phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
		if pod.GetDeletionTimestamp() == nil && phase != string(corev1.PodFailed) {
			active++
		}
	}
	if active > most {
		return fmt.Errorf("got %d active pods, want at most %d", active, most)
	}
	return nil
}

func has(j *unstructured.Unstructured, condition batchv1.JobConditionType) bool {
	conditions, _, _ := unstructured.NestedSlice(j.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == string(condition) && m["status"] == "True"
	})
}

// howItEnded removes the number of failures, which depends on timing: a controller that observes the first
// pod late does not replace it.
func howItEnded(s bowlinetest.State) bowlinetest.State {
	if j := s.Find("Job", "default", "work"); j != nil {
		unstructured.RemoveNestedField(j.Object, "status", "failed")
	}
	return bowlinetest.State{Objects: s.Kind("Job")}
}
