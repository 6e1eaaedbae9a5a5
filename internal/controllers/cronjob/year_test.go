package cronjob_test

import (
	"context"
	"flag"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline"
	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/cronjob"
	"github.com/bowline-dev/bowline/internal/controllers/garbagecollector"
	"github.com/bowline-dev/bowline/internal/controllers/job"
)

// runs is a flag so that the benchmark can simulate a year.
var runs = flag.Int("runs", 48, "how many hourly runs TestHourlyRuns makes")

// In virtual time, each run creates a job with a pod that succeeds, and only the last three jobs and pods
// remain.
func TestHourlyRuns(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		defer runNodes(t, p)()
		c, err := client.New(p.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		cj := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "hourly", Namespace: "default"}}
		cj.Spec.Schedule = "@hourly"
		spec := &cj.Spec.JobTemplate.Spec.Template.Spec
		spec.RestartPolicy = corev1.RestartPolicyNever
		spec.Containers = []corev1.Container{{Name: "work", Image: "work:1"}}
		if _, err := client.For[*batchv1.CronJob](c).Create(t.Context(), cj, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(*runs)*time.Hour + time.Minute)
		jobs, err := client.For[*batchv1.Job](c).List(t.Context(), "", metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		left, err := client.For[*corev1.Pod](c).List(t.Context(), "", metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(jobs.Items) != 3 || len(left.Items) != 3 {
			t.Errorf("after %d runs: got %d jobs and %d pods, want 3 of each", *runs, len(jobs.Items), len(left.Items))
		}
		got, err := client.For[*batchv1.CronJob](c).Get(t.Context(), "default", "hourly")
		if err != nil {
			t.Fatal(err)
		}
		if got.Status.LastScheduleTime == nil || time.Since(got.Status.LastScheduleTime.Time) > time.Hour ||
			len(got.Status.Active) > 0 {
			t.Errorf("got status %+v, want a schedule time within the last hour and no active job", got.Status)
		}
	}, asUp)
}

// runNodes marks each new pod as succeeded until end is called. It is minimal, since nodes are not part of
// the measurement: an informer whose handler writes, without a controller that would retry failed writes.
func runNodes(t *testing.T, p *bowlinetest.Plane) (end func()) {
	c, err := client.New(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	in := corev1.SchemeGroupVersion.WithResource("pods")
	pods := informer.New(p.Source(), in, informer.Options[*corev1.Pod]{})
	pods.AddHandler(informer.HandlerFuncs[*corev1.Pod]{Add: func(seen *corev1.Pod, _ bool) {
		pod := *seen
		pod.ManagedFields, pod.Status.Phase = nil, corev1.PodSucceeded
		if _, err := client.Of[*corev1.Pod](c, in).UpdateStatus(ctx, &pod, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
	}})
	var running sync.WaitGroup
	running.Go(func() { pods.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// asUp makes the plane itself run the controllers, as bowline up does.
var asUp = bowlinetest.With(func(o *bowline.Options) {
	o.Controllers = []string{cronjob.Name, job.Name, garbagecollector.Name}
})
