package job_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/job"
	"github.com/bowline-dev/bowline/controllers/pods"
	"github.com/bowline-dev/bowline/informer"
)

func TestNoFaultHasAPodCountedTwice(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, counting(bowlinetest.Process{Name: "controller", Run: process}))
}

func TestTwoControllersAtOnceCountEachPodOnce(t *testing.T) {
	t.Parallel()
	bowlinetest.Explore(t, counting(bowlinetest.Process{Name: "one", Run: process}, bowlinetest.Process{Name: "two", Run: process}))
}

// process is the controller as a program.
func process(ctx context.Context, config *rest.Config) error {
	m, err := controller.NewManager(config, controller.ManagerOptions{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	job.Add(m)
	return m.Run(ctx)
}

// counting is a job of three, of whose pods the first one fails.
func counting(processes ...bowlinetest.Process) bowlinetest.Scenario {
	return bowlinetest.Scenario{
		Options:    []bowlinetest.Option{alone(), bowlinetest.Manage(node)},
		Processes:  processes,
		Act:        work,
		Settle:     2 * time.Minute,
		Invariants: []func(bowlinetest.State) error{counted},
		Skip:       func(p bowlinetest.Point) bool { return p.Resource == "events" },
		Budget:     30,
	}
}

// work is what a user does: a job of three, two at a time.
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

// node has pods end two seconds after they were made: the first one in failure, the others not.
func node(m *controller.Manager) error {
	all := informer.For[*corev1.Pod](m.Informers(), pods.Resource)
	writes := client.Of[*corev1.Pod](m.Client(), pods.Resource)
	m.Add(controller.Options{
		Name:    "node",
		Sources: []controller.Source{controller.For(all)},
		Reconciler: controller.Func(func(ctx context.Context, request controller.Request) (controller.Result, error) {
			pod, ok := all.Indexer().Get(request)
			if !ok || pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
				return controller.Result{}, nil
			}
			if wait := time.Until(pod.CreationTimestamp.Add(2 * time.Second)); wait > 0 {
				return controller.Result{RequeueAfter: wait}, nil
			}
			pod = pod.DeepCopy()
			pod.Status.Phase = corev1.PodFailed
			for _, other := range all.Indexer().List() {
				if pods.HasEnded(other) {
					pod.Status.Phase = corev1.PodSucceeded
				}
			}
			_, err := writes.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
			return controller.Result{}, err
		}),
	})
	return nil
}

// counted is broken when the job has counted what there was not, or there is more at work than there may be.
func counted(s bowlinetest.State) error {
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
		return fmt.Errorf("%d pods are at work", all["Pending"])
	}
	for field, phase := range map[string]string{"succeeded": "Succeeded", "failed": "Failed"} {
		if n, _, _ := unstructured.NestedInt64(j.Object, "status", field); n > all[phase] {
			return fmt.Errorf("the job counts %d pods as %s, and there are %d", n, field, all[phase])
		}
	}
	return nil
}
