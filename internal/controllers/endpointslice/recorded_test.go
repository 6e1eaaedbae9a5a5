package endpointslice_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/endpoint"
	"github.com/bowline-dev/bowline/internal/controllers/endpointslice"
	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/trial"
)

// The recording has the Endpoints and EndpointSlices of kube-controller-manager 1.36 for a service and two pods that
// are ready but not on a node.
func TestRecordedKubernetesEndpoints(t *testing.T) {
	t.Parallel()
	manage := bowlinetest.Manage(func(m *controller.Manager) error {
		endpointslice.Add(m)
		endpoint.Add(m)
		return nil
	})
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		names := map[string]string{"p0": "p0", "p1": "p1"}
		for name := range names {
			step := golden.Step{Method: http.MethodPost, Path: "/api/v1/namespaces/default/pods"}
			step.Headers = map[string]string{"Content-Type": "application/json"}
			step.Body = `{"metadata":{"name":"` + name + `","labels":{"app":"nginx"}},` +
				`"spec":{"containers":[{"name":"nginx","image":"nginx"}]}}`
			golden.Send(t, p.RESTConfig(), step, names)
		}
		compared := 0
		for _, step := range golden.Steps(t, "controllers/controllers-deployment.json") {
			switch {
			case strings.HasSuffix(step.Path, "/services"), strings.HasSuffix(step.Path, "/status"):
				if status, got := golden.Send(t, p.RESTConfig(), step, names); status >= http.StatusBadRequest {
					t.Fatalf("%s %s: got status %d: %v", step.Method, step.Path, status, got)
				}
			case strings.Contains(step.Path, "/endpoint"):
				time.Sleep(time.Second)
				compared++
				_, got := golden.Send(t, p.RESTConfig(), step, names)
				if diff := cmp.Diff(normalize(step.Response.JSON(t)), normalize(got)); diff != "" {
					t.Errorf("%s: -recorded +answered\n%s", step.Path, diff)
				}
			case step.Method == http.MethodDelete: // the remaining steps are about other objects
				if compared != 2 {
					t.Errorf("got %d compared responses, want 2", compared)
				}
				return
			}
		}
	}, trial.Alone(), manage)
}

var (
	madeUp = regexp.MustCompile(`^nginx-[a-z0-9]{5}$`)
	when   = regexp.MustCompile(`^[0-9-]{10}T[0-9:]{8}Z$`)
)

// normalize removes from an answer what differs between servers.
func normalize(v any) any {
	return golden.NormalizeWith(v, nil, func(s string) string {
		return when.ReplaceAllString(madeUp.ReplaceAllString(s, "nginx-#"), "then")
	})
}
