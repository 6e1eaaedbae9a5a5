// Package nginx_test runs the example in virtual time, to test behavior that takes minutes.
package nginx_test

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/node/simulated"
)

// everything returns the options that correspond to `bowline up --nodes 3`.
func everything() []bowlinetest.Option {
	return []bowlinetest.Option{
		bowlinetest.With(func(o *bowline.Options) { o.Controllers = []string{"*"} }),
		bowlinetest.Manage(func(m *controller.Manager) error {
			simulated.Add(m, simulated.Options{Nodes: 3})
			return nil
		}),
	}
}

func TestPodsOfDeadNodeAreReplaced(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		p.Apply(t, read(t, "nginx.yaml"))
		pass(time.Minute)
		before := running(t, p)
		if len(before) != 2 {
			t.Fatalf("got %d running pods, want 2", len(before))
		}
		dead := before[0].Spec.NodeName
		patch := []byte(`{"metadata":{"annotations":{"` + simulated.Prefix + `dead":"true"}}}`)
		if _, err := bowlinetest.Client[*corev1.Node](t, p).Patch(t.Context(), "", dead, "", types.MergePatchType,
			patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Minute)
		after := running(t, p)
		if len(after) != 2 {
			t.Fatalf("got %d running pods, want 2", len(after))
		}
		for _, pod := range after {
			if pod.Spec.NodeName == dead {
				t.Errorf("pod %s is still on the dead node %s", pod.Name, dead)
			}
		}
	}, everything()...)
}

// The CronJob is declared in an API version that precedes batch/v1.
func TestCronJobOfOldVersion(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		p.Apply(t, read(t, "testdata/cronjob.yaml"))
		pass(10*time.Minute + 30*time.Second)
		hello, err := bowlinetest.Client[*batchv1.CronJob](t, p).Get(t.Context(), "default", "hello")
		if err != nil {
			t.Fatal(err)
		}
		if last := hello.Status.LastScheduleTime; last == nil || time.Since(last.Time) > time.Minute {
			t.Errorf("the CronJob was last scheduled at %v, and it is %v", last, time.Now())
		}
		jobs, err := bowlinetest.Client[*batchv1.Job](t, p).List(t.Context(), "default", metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(jobs.Items) != 3 {
			t.Errorf("got %d jobs, want the last 3", len(jobs.Items))
		}
		for _, job := range jobs.Items {
			if job.Status.Succeeded != 1 {
				t.Errorf("job %s is not complete: %+v", job.Name, job.Status)
			}
		}
	}, everything()...)
}

// pass advances time and waits until all controllers are idle.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// running returns the pods that are ready and not being deleted.
func running(t *testing.T, p *bowlinetest.Plane) (ready []*corev1.Pod) {
	t.Helper()
	page, err := bowlinetest.Client[*corev1.Pod](t, p).List(t.Context(), "default",
		metav1.ListOptions{LabelSelector: "app=nginx"})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range page.Items {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil {
				ready = append(ready, pod)
			}
		}
	}
	return ready
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
