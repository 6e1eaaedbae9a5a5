package job_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/controllers/job"
	"github.com/bowline-dev/bowline/internal/trial"
)

// A pod waits to be counted until the server confirms that its job is gone. A proxy's 404 does not confirm
// it.
func TestPodsWaitDespiteAProxys404(t *testing.T) {
	t.Parallel()
	proxy := &trial.NotFoundProxy{Path: "/jobs/"}
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		gone := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "gone", UID: "gone"}}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Spec: trial.Web().Spec}
		pod.Finalizers = []string{batchv1.JobTrackingFinalizer}
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(gone,
			batchv1.SchemeGroupVersion.WithKind("Job"))}
		pods := bowlinetest.Client[*corev1.Pod](t, p)
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			time.Sleep(time.Hour)
			is, err := pods.Get(t.Context(), "default", "a")
			if err != nil || (len(is.Finalizers) == 0) != proxy.Mended.Load() {
				t.Errorf("proxy mended %t: got finalizers %v (%v)", proxy.Mended.Load(), is.Finalizers, err)
			}
			proxy.Mended.Store(true)
		}
	}, trial.Alone(), bowlinetest.Controllers(proxy.Of(trial.Of(job.Add))))
}
