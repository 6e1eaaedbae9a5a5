package daemonset_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/internal/golden/recorded"
)

// The same requests as were sent to a kube-apiserver with a kube-controller-manager 1.36, which had a node called n1, are sent
// here. Hashes, labels, tolerations, affinity and the status are the same; the pod's name has another end.
func TestWhatKubernetesMadeOfADaemonSetIsMadeHere(t *testing.T) {
	t.Parallel()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		if err := ready(t.Context(), p.Config()); err != nil {
			t.Fatal(err)
		}
		names, compared := map[string]string{}, 0
		for i, step := range recorded.Steps(t, "controllers/controllers-others.json")[9:13] {
			if step.Method == "" {
				time.Sleep(time.Duration(step.Sleep * float64(time.Second)))
				continue
			}
			compared++
			status, got := recorded.Send(t, p.Config(), step, names)
			is, want := comparable(got), comparable(step.Response.JSON(t))
			if diff := cmp.Diff(want, is); status != step.Response.Status || diff != "" {
				t.Errorf("step %d, %s %s: %d, want %d; -recorded +answered\n%s", i+9, step.Method, step.Path,
					status, step.Response.Status, diff)
			}
		}
		if compared != 3 {
			t.Errorf("%d answers were compared", compared)
		}
	}, trial.Alone(), bowlinetest.Objects(node), bowlinetest.Manage(manage))
}

// suffix is the end of a pod's name.
var suffix = regexp.MustCompile(`^(agent-)[0-9a-z]{5}$`)

// comparable is an answer without what differs from one server to another, and what a pod's admission sets.
func comparable(v any) any {
	return recorded.Alike(v, func(_ map[string]any, field string) bool {
		return field == "priority" || field == "preemptionPolicy"
	}, func(s string) string {
		return suffix.ReplaceAllString(s, "$1#")
	})
}
