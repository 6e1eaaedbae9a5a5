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
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
	"github.com/bowline-dev/bowline/internal/controllers/job"
	"github.com/bowline-dev/bowline/internal/trial"
)

func TestFaultsCountNoPodTwice(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, counting(trial.Of(job.Add).Once()))
}

func TestTwoControllersCountEachPodOnce(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, counting(trial.Of(job.Add).Twice()))
}

// counting is the scenario of a job of three completions whose first pod fails.
func counting(processes []bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{trial.Alone(), bowlinetest.Manage(trial.Nodes(2*time.Second, end))},
		Processes:  processes,
		Act:        work,
		Settle:     2 * time.Minute,
		Invariants: []func(bowlinetest.State) error{moveReleased},
		Skip:       trial.Events,
		Budget:     30,
	}
}

// work creates a job of three completions, two at a time.
func work(ctx context.Context, config *rest.Config) error {
	c, err := client.New(config)
	if err != nil {
		return err
	}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "work", Namespace: "default"}}
	j.Spec.Completions, j.Spec.Parallelism = new(int32(3)), new(int32(2))
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	j.Spec.Template.Spec.Containers = []corev1.Container{{Name: "work", Image: "work:1"}}
	_, err = client.For[*batchv1.Job](c).Create(ctx, j, metav1.CreateOptions{})
	return err
}

// end fails the first pod and lets the others succeed.
func end(pod *corev1.Pod, all []*corev1.Pod) {
	pod.Status.Phase = corev1.PodFailed
	if slices.ContainsFunc(all, pods.IsTerminal) {
		pod.Status.Phase = corev1.PodSucceeded
	}
}

// moveReleased fails if the job counts more pods than there are, or if too many are active.
func moveReleased(s bowlinetest.State) error {
	j := s.Find("Job", "default", "work")
	if j == nil {
		return nil
	}
	all := map[string]int64{}
	for _, pod := range s.Kind("Pod") {
		phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
		all[phase]++
	}
	if all["Pending"] > 2 {
		return fmt.Errorf("got %d pending pods, want at most 2", all["Pending"])
	}
	for field, phase := range map[string]string{"succeeded": "Succeeded", "failed": "Failed"} {
		if n, _, _ := unstructured.NestedInt64(j.Object, "status", field); n > all[phase] {
			return fmt.Errorf("got status.%s %d, want at most %d", field, n, all[phase])
		}
	}
	return nil
}
