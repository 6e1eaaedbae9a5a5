package statefulset_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/internal/golden/recorded"
)

// The same requests as were sent to a kube-apiserver with a kube-controller-manager 1.36 are sent here: a set of two with claims,
// whose first pod becomes ready. Names and hashes are the same, and so are labels, volumes and the status.
func TestWhatKubernetesMadeOfAStatefulSetIsMadeHere(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		names, compared := map[string]string{}, 0
		for i, step := range recorded.Steps(t, "controllers/controllers-others.json")[:9] {
			if step.Method == "" {
				time.Sleep(time.Duration(step.Sleep * float64(time.Second)))
				continue
			}
			status, got := recorded.Send(t, p.Config(), step, names)
			if step.StatusOnly {
				continue
			}
			compared++
			is, want := comparable(got), comparable(step.Response.JSON(t))
			if diff := cmp.Diff(want, is); status != step.Response.Status || diff != "" {
				t.Errorf("step %d, %s %s: %d, want %d; -recorded +answered\n%s", i, step.Method, step.Path,
					status, step.Response.Status, diff)
			}
		}
		if compared != 6 {
			t.Errorf("%d answers were compared", compared)
		}
	}, trial.Alone(), bowlinetest.Manage(manage))
}

// admitted are what a pod's admission sets, which is nothing of the controller's.
var admitted = []string{"tolerations", "priority", "preemptionPolicy"}

// comparable is an answer without what differs from one server to another.
func comparable(v any) any {
	return recorded.Alike(v, func(_ map[string]any, field string) bool { return slices.Contains(admitted, field) }, nil)
}
