package endpointslice_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/endpoint"
	"github.com/bowline-dev/bowline/controllers/endpointslice"
	"github.com/bowline-dev/bowline/golden/recorded"
)

// A kube-controller-manager 1.36 was shown a service and two pods that are ready at their addresses and on no node: what it made of
// them is made here.
func TestWhatKubernetesMadeOfAServiceIsMadeHere(t *testing.T) {
	t.Parallel()
	manage := bowlinetest.Manage(func(m *controller.Manager) error {
		endpointslice.Add(m)
		endpoint.Add(m)
		return nil
	})
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		for _, name := range []string{"p0", "p1"} {
			send(t, p.Config(), http.MethodPost, "/api/v1/namespaces/default/pods", "application/json",
				`{"metadata":{"name":"`+name+`","labels":{"app":"nginx"}},"spec":{"containers":[{"name":"nginx","image":"nginx"}]}}`)
		}
		compared := 0
		for _, step := range recorded.Steps(t, "controllers/controllers-deployment.json") {
			path := strings.NewReplacer("{{p0}}", "p0", "{{p1}}", "p1").Replace(step.Path)
			switch {
			case strings.HasSuffix(path, "/services"), strings.HasSuffix(path, "/status"):
				send(t, p.Config(), step.Method, path, step.Headers["Content-Type"], step.Body)
			case strings.Contains(path, "/endpoint"):
				time.Sleep(time.Second)
				compared++
				got := send(t, p.Config(), step.Method, path, "", "")
				if diff := cmp.Diff(alike(t, step.Response.Body), alike(t, got)); diff != "" {
					t.Errorf("%s: -recorded +answered\n%s", path, diff)
				}
			case step.Method == http.MethodDelete: // what came after it is about others
				if compared != 2 {
					t.Errorf("%d answers were compared", compared)
				}
				return
			}
		}
	}, alone(), manage)
}

func send(t *testing.T, config *rest.Config, method, path, contentType, body string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, config.Host+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %s %v", method, path, response.StatusCode, data, err)
	}
	return data
}

var (
	name = regexp.MustCompile(`"nginx-[a-z0-9]{5}"`)
	when = regexp.MustCompile(`"[0-9-]{10}T[0-9:]{8}Z"`)
)

// alike is an answer without what differs from one server to another.
func alike(t *testing.T, body []byte) any {
	body = when.ReplaceAll(name.ReplaceAll(body, []byte(`"nginx-#"`)), []byte(`"then"`))
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return recorded.Plain(v)
}
