package job_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/client"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/informer"
	"github.com/bowline-dev/bowline/internal/controllers/internal/pods"
	"github.com/bowline-dev/bowline/internal/controllers/job"
	"github.com/bowline-dev/bowline/internal/trial"
)

const (
	parallel = 10
	// maxInterference is the number of pods after which the test stops removing labels, so that it ends even if the
	// controller creates pods without a delay.
	maxInterference = 1000
	// The delays within an hour are 1, 2, 4 seconds and so on, up to 15 minutes: twelve or thirteen of them.
	least, most = 8 * parallel, 14 * parallel
)

// For an hour, another client removes each pod's labels as soon as it is created, so that the job loses it.
func TestPodLossIsReportedAndBackedOff(t *testing.T) {
	t.Parallel()
	var relabeled atomic.Int32
	var stop atomic.Bool
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "work", Namespace: "default"}}
		j.Spec.Completions, j.Spec.Parallelism = new(int32(parallel)), new(int32(parallel))
		j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
		j.Spec.Template.Spec.Containers = []corev1.Container{{Name: "work", Image: "work:1"}}
		if _, err := bowlinetest.Client[*batchv1.Job](t, p).Create(t.Context(), j, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n := relabeled.Load(); n > most || n < least {
			t.Errorf("got %d created pods, want %d to %d", n, least, most)
		}
		events, err := bowlinetest.Client[*corev1.Event](t, p).List(t.Context(), "default", metav1.ListOptions{
			FieldSelector: "involvedObject.name=work,reason=FightingSelectors",
		})
		const says = "pods are relabeled as soon as they are created: pod \"work-"
		if err != nil || len(events.Items) == 0 || !strings.HasPrefix(events.Items[0].Message, says) {
			t.Errorf("got events %v (%v), want FightingSelectors with %q", events.Items, err, says)
		}
		stop.Store(true)
		time.Sleep(time.Hour / 2)
		named := metav1.ListOptions{LabelSelector: batchv1.JobNameLabel}
		page, err := bowlinetest.Client[*corev1.Pod](t, p).List(t.Context(), "default", named)
		if err != nil || len(page.Items) != parallel {
			t.Errorf("half an hour after the last relabeling: got %d pods (%v), want %d", len(page.Items), err,
				parallel)
		}
	}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		job.Add(m)
		unlabelPods(m, &relabeled, &stop)
		return nil
	}))
}

// unlabelPods adds a controller that removes the labels of pods until stop is set.
func unlabelPods(m *controller.Manager, relabeled *atomic.Int32, stop *atomic.Bool) {
	all := informer.For[*corev1.Pod](m.Informers(), pods.Resource)
	writes := client.Of[*corev1.Pod](m.Client(), pods.Resource)
	m.Add(controller.Options{
		Name:    "unlabeler",
		Sources: []controller.Source{controller.For(all)},
		Reconciler: controller.Func(func(ctx context.Context, request controller.Request) (controller.Result, error) {
			pod, ok := all.Indexer().Get(request)
			if !ok || len(pod.Labels) == 0 || stop.Load() || relabeled.Load() >= maxInterference {
				return controller.Result{}, nil
			}
			relabeled.Add(1)
			patch := []byte(`{"metadata":{"labels":null}}`)
			_, err := writes.Patch(ctx, pod.Namespace, pod.Name, "", types.MergePatchType, patch, metav1.PatchOptions{})
			return controller.Result{}, err
		}),
	})
}
