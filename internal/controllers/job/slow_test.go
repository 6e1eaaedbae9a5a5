package job_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/internal/controllers/job"
	"github.com/bowline-dev/bowline/internal/trial"
)

// slowTransport is a transport with a latency of two milliseconds.
type slowTransport struct{ http.RoundTripper }

func (f slowTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(2 * time.Millisecond)
	return f.RoundTripper.RoundTrip(r)
}

// A controller that was stopped finds thousands of uncounted pods. It must not verify each of them with a
// request of its own, since each request takes two milliseconds.
func TestThousandsOfPodsAreCountedOverASlowConnection(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		const count = 2500
		ended(t, p.RESTConfig(), count)
		config := rest.CopyConfig(p.RESTConfig())
		config.Transport = slowTransport{config.Transport}
		stop := start(t, trial.Of(job.Add), config)
		defer stop()
		time.Sleep(2 * time.Minute)
		c, err := client.New(p.RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		got, err := client.For[*batchv1.Job](c).Get(t.Context(), "default", "work")
		if err != nil {
			t.Fatal(err)
		}
		if job.HasEnded(got) != batchv1.JobComplete || got.Status.Succeeded != count {
			t.Errorf("got status %+v, want a complete job with %d succeeded pods", got.Status, count)
		}
	}, trial.Alone())
}

// ended creates a job and count pods of it that have succeeded.
func ended(t *testing.T, config *rest.Config, count int32) {
	t.Helper()
	c, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "work", Namespace: "default"}}
	j.Spec.Completions, j.Spec.Parallelism = &count, new(int32)
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	j.Spec.Template.Spec.Containers = []corev1.Container{{Name: "work", Image: "work:1"}}
	if j, err = client.For[*batchv1.Job](c).Create(t.Context(), j, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for n := range count {
		pod := &corev1.Pod{ObjectMeta: *j.Spec.Template.ObjectMeta.DeepCopy(), Spec: *j.Spec.Template.Spec.DeepCopy()}
		pod.Name, pod.Namespace, pod.Finalizers = fmt.Sprintf("work-%d", n), "default",
			[]string{batchv1.JobTrackingFinalizer}
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j,
			batchv1.SchemeGroupVersion.WithKind("Job"))}
		if pod, err = client.For[*corev1.Pod](c).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		pod.Status.Phase = corev1.PodSucceeded
		if _, err := client.For[*corev1.Pod](c).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// start runs a program until stop is called.
func start(t *testing.T, p trial.Program, config *rest.Config) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p(ctx, config); err != nil {
			t.Error(err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}
