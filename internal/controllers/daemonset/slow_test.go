package daemonset_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/controllers/daemonset"
	"github.com/bowline-dev/bowline/internal/trial"
)

// slow is a transport that delays the response to each pod creation.
type slow struct {
	http.RoundTripper
	each time.Duration
}

func (s slow) RoundTrip(q *http.Request) (*http.Response, error) {
	answer, err := s.RoundTripper.RoundTrip(q)
	if q.Method == http.MethodPost && strings.HasSuffix(q.URL.Path, "/pods") {
		time.Sleep(s.each)
	}
	return answer, err
}

// A hundred pods are created in batches of one, two, four and so on, which takes seven times as long as one
// creation. Observing the first pods does not restart the creation of the rest.
func TestSlowCreationsRunInParallel(t *testing.T) {
	t.Parallel()
	const nodes, each = 100, 3 * time.Second
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		for i := range nodes {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i)}}
			if _, err := bowlinetest.Client[*corev1.Node](t, p).Create(t.Context(), node,
				metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute) // until the controller has observed the nodes
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
		set.Spec.Template = trial.Web()
		set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: set.Spec.Template.Labels}
		sets := bowlinetest.Client[*appsv1.DaemonSet](t, p)
		if _, err := sets.Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(8 * each)
		made, err := bowlinetest.Client[*corev1.Pod](t, p).List(t.Context(), "default", metav1.ListOptions{})
		if err != nil || len(made.Items) != nodes {
			t.Errorf("got %d pods (%v), want %d", len(made.Items), err, nodes)
		}
		is, err := sets.Get(t.Context(), "default", "web")
		if err != nil || is.Status.CurrentNumberScheduled != nodes || is.Status.ObservedGeneration != 1 {
			t.Errorf("got status %+v (%v), want %d scheduled pods of generation 1", is.Status, err, nodes)
		}
	}, trial.Alone(), bowlinetest.Controllers(func(ctx context.Context, config *rest.Config) error {
		config = rest.CopyConfig(config)
		config.Transport = slow{config.Transport, each}
		return trial.Of(daemonset.Add)(ctx, config)
	}))
}
