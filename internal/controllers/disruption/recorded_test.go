package disruption_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/disruption"
	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/trial"
)

// The recording has the status that kube-controller-manager 1.36 computed for a budget of two pods, one of
// them ready.
func TestRecordedKubernetesBudget(t *testing.T) {
	t.Parallel()
	manage := bowlinetest.Manage(func(m *controller.Manager) error {
		disruption.Add(m)
		return nil
	})
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		for _, pod := range []string{"web-0", "web-1"} {
			send(t, p.RESTConfig(), http.MethodPost, "/api/v1/namespaces/default/pods", "application/json",
				`{"metadata":{"name":"`+pod+
					`","labels":{"app":"web"}},"spec":{"containers":[{"name":"nginx","image":"nginx"}]}}`)
		}
		send(t, p.RESTConfig(), http.MethodPatch, "/api/v1/namespaces/default/pods/web-0/status",
			"application/merge-patch+json",
			`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
		for _, step := range golden.Steps(t, "controllers/controllers-others.json") {
			if !strings.Contains(step.Path, "/poddisruptionbudgets") {
				continue
			}
			status, got := golden.Send(t, p.RESTConfig(), step, nil)
			if step.Method == http.MethodPost {
				time.Sleep(2 * time.Second)
				continue
			}
			if diff := cmp.Diff(golden.Normalize(step.Response.JSON(t)),
				golden.Normalize(got)); status != http.StatusOK || diff != "" {
				t.Errorf("%s: got status %d, want 200; -recorded +answered\n%s", step.Path, status, diff)
			}
			return
		}
		t.Error("the recording has no PodDisruptionBudget")
	}, trial.Alone(), manage)
}

func send(t *testing.T, config *rest.Config, method, path, contentType, body string) {
	t.Helper()
	step := golden.Step{Method: method, Path: path, Headers: map[string]string{"Content-Type": contentType}, Body: body}
	if status, got := golden.Send(t, config, step, nil); status >= http.StatusBadRequest {
		t.Fatalf("%s %s: got status %d: %v", method, path, status, got)
	}
}
