package replicaset_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/replicaset"
	"github.com/bowline-dev/bowline/internal/trial"
)

// A pod's name is truncated like a generated name, here after the dot. Its generateName has the full prefix,
// as in Kubernetes; truncated after the dot, it would be an invalid name.
func TestLongNameWithDotIsTruncated(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 57) + ".b"
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		p.Apply(t, setOf(long, 1))
		advance(time.Second)
		page, err := bowlinetest.Client[*corev1.Pod](t, p).List(t.Context(), "default", metav1.ListOptions{})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("got %d pods (%v), want 1; condition %+v", len(page.Items), err, conditionOf(t, p, long))
		}
		pod := page.Items[0]
		if pod.GenerateName != long+"-" || !strings.HasPrefix(pod.Name, long[:58]) || len(pod.Name) != 63 {
			t.Errorf("got name %q, generateName %q; want 63 characters of %q, and the full prefix", pod.Name,
				pod.GenerateName,
				long)
		}
	}, trial.Alone(), bowlinetest.Manage(func(m *controller.Manager) error {
		replicaset.Add(m)
		return nil
	}))
}
