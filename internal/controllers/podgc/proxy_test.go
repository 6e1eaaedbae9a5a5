package podgc_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/trial"
)

// Pods are deleted when the server confirms that their node is gone. A proxy's 404 does not confirm it.
func TestProxy404DeletesNoPods(t *testing.T) {
	t.Parallel()
	proxy := &trial.NotFoundProxy{Path: "/api/v1/nodes/"}
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		pods := bowlinetest.Client[*corev1.Pod](t, p)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}}
		pod.Spec = trial.Web().Spec
		pod.Spec.NodeName = "away"
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			time.Sleep(time.Hour)
			_, err := pods.Get(t.Context(), "default", "a")
			if gone := apierrors.IsNotFound(err); gone != proxy.Mended.Load() || !gone && err != nil {
				t.Errorf("proxy mended %t: getting the pod: %v", proxy.Mended.Load(), err)
			}
			proxy.Mended.Store(true)
		}
	}, trial.Alone(), bowlinetest.Controllers(proxy.Of(trial.Of(retainTwo))))
}
