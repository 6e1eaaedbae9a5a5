package endpointslice_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/internal/controllers/endpoint"
	"github.com/bowline-dev/bowline/internal/controllers/endpointslice"
	"github.com/bowline-dev/bowline/internal/golden/recorded"
)

// A kube-controller-manager 1.36 was shown a service and two pods that are ready at their addresses and on no node: what it
// made of them is made here.
func TestWhatKubernetesMadeOfAServiceIsMadeHere(t *testing.T) {
	t.Parallel()
	manage := bowlinetest.Manage(func(m *controller.Manager) error {
		endpointslice.Add(m)
		endpoint.Add(m)
		return nil
	})
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		names := map[string]string{"p0": "p0", "p1": "p1"}
		for name := range names {
			step := recorded.Step{Method: http.MethodPost, Path: "/api/v1/namespaces/default/pods"}
			step.Headers = map[string]string{"Content-Type": "application/json"}
			step.Body = `{"metadata":{"name":"` + name + `","labels":{"app":"nginx"}},` +
				`"spec":{"containers":[{"name":"nginx","image":"nginx"}]}}`
			recorded.Send(t, p.Config(), step, names)
		}
		compared := 0
		for _, step := range recorded.Steps(t, "controllers/controllers-deployment.json") {
			switch {
			case strings.HasSuffix(step.Path, "/services"), strings.HasSuffix(step.Path, "/status"):
				if status, got := recorded.Send(t, p.Config(), step, names); status >= http.StatusBadRequest {
					t.Fatalf("%s %s: %d %v", step.Method, step.Path, status, got)
				}
			case strings.Contains(step.Path, "/endpoint"):
				time.Sleep(time.Second)
				compared++
				_, got := recorded.Send(t, p.Config(), step, names)
				if diff := cmp.Diff(alike(step.Response.JSON(t)), alike(got)); diff != "" {
					t.Errorf("%s: -recorded +answered\n%s", step.Path, diff)
				}
			case step.Method == http.MethodDelete: // what came after it is about others
				if compared != 2 {
					t.Errorf("%d answers were compared", compared)
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

// alike is an answer without what differs from one server to another.
func alike(v any) any {
	return recorded.Alike(v, nil, func(s string) string {
		return when.ReplaceAllString(madeUp.ReplaceAllString(s, "nginx-#"), "then")
	})
}
