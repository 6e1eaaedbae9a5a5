package podgc_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/trial"
)

// astray is a way to a server on which a proxy knows nothing of single nodes, until it is mended.
type astray struct {
	http.RoundTripper
	mended atomic.Bool
}

func (a *astray) RoundTrip(q *http.Request) (*http.Response, error) {
	if a.mended.Load() || !strings.HasPrefix(q.URL.Path, "/api/v1/nodes/") {
		return a.RoundTripper.RoundTrip(q)
	}
	return &http.Response{
		StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {"text/plain"}}, Request: q,
		Body: io.NopCloser(strings.NewReader("404 page not found")),
	}, nil
}

// Pods go when the server says that their node has gone, and not when nobody finds the way to it.
func TestWhatAProxyDoesNotFindIsNotGone(t *testing.T) {
	t.Parallel()
	way := &astray{}
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
			if gone := apierrors.IsNotFound(err); gone != way.mended.Load() || !gone && err != nil {
				t.Errorf("the way is mended: %t; the pod: %v", way.mended.Load(), err)
			}
			way.mended.Store(true)
		}
	}, trial.Alone(), bowlinetest.Controllers(func(ctx context.Context, config *rest.Config) error {
		config = rest.CopyConfig(config)
		way.RoundTripper, config.Transport = config.Transport, way
		return trial.Of(keeping2)(ctx, config)
	}))
}
