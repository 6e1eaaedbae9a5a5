package statefulset_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/trial"
)

// The test sends the requests that were recorded with a kube-apiserver and a kube-controller-manager 1.36: a
// set of two pods with claims, whose first pod becomes ready. Names, hashes, labels, volumes and the status
// must equal the recorded ones.
func TestRecordedKubernetesStatefulSet(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		names, compared := map[string]string{}, 0
		for i, step := range golden.Steps(t, "controllers/controllers-others.json")[:9] {
			if step.Method == "" {
				time.Sleep(time.Duration(step.Sleep * float64(time.Second)))
				continue
			}
			status, got := golden.Send(t, p.RESTConfig(), step, names)
			if step.StatusOnly {
				continue
			}
			compared++
			is, want := comparable(got), comparable(step.Response.JSON(t))
			if diff := cmp.Diff(want, is); status != step.Response.Status || diff != "" {
				t.Errorf("step %d, %s %s: got status %d, want %d; -recorded +answered\n%s", i, step.Method, step.Path,
					status, step.Response.Status, diff)
			}
		}
		if compared != 6 {
			t.Errorf("got %d compared responses, want 6", compared)
		}
	}, trial.Alone(), bowlinetest.Manage(manage))
}

// ignored lists the pod fields that admission sets rather than the controller, and maxUnavailable, which has a default
// since Kubernetes 1.37.
var ignored = []string{"tolerations", "priority", "preemptionPolicy", "maxUnavailable"}

// comparable returns a response without the values that differ between servers.
func comparable(v any) any {
	return golden.NormalizeWith(v, func(_ map[string]any, field string) bool {
		return slices.Contains(ignored, field)
	}, nil)
}
