package daemonset_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/trial"
)

// The test sends the requests that were recorded with a kube-apiserver and a kube-controller-manager 1.36 and
// a node named n1. Hashes, labels, tolerations, affinity and the status must equal the recorded ones; the
// suffix of the pod's name differs.
func TestRecordedKubernetesDaemonSet(t *testing.T) {
	t.Parallel()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		if err := ready(t.Context(), p.RESTConfig()); err != nil {
			t.Fatal(err)
		}
		names, compared := map[string]string{}, 0
		for i, step := range golden.Steps(t, "controllers/controllers-others.json")[9:13] {
			if step.Method == "" {
				time.Sleep(time.Duration(step.Sleep * float64(time.Second)))
				continue
			}
			compared++
			status, got := golden.Send(t, p.RESTConfig(), step, names)
			is, want := comparable(got), comparable(step.Response.JSON(t))
			if diff := cmp.Diff(want, is); status != step.Response.Status || diff != "" {
				t.Errorf("step %d, %s %s: got status %d, want %d; -recorded +answered\n%s", i+9, step.Method, step.Path,
					status, step.Response.Status, diff)
			}
		}
		if compared != 3 {
			t.Errorf("got %d compared responses, want 3", compared)
		}
	}, trial.Alone(), bowlinetest.Objects(node), bowlinetest.Manage(manage))
}

// suffix matches a pod name with its random suffix.
var suffix = regexp.MustCompile(`^(agent-)[0-9a-z]{5}$`)

// comparable returns a response without the values that differ between servers and the fields that pod
// admission sets.
func comparable(v any) any {
	return golden.NormalizeWith(v, func(_ map[string]any, field string) bool {
		return field == "priority" || field == "preemptionPolicy"
	}, func(s string) string {
		return suffix.ReplaceAllString(s, "$1#")
	})
}
