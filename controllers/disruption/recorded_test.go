package disruption_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/controller"
	"github.com/bowline-dev/bowline/controllers/disruption"
	"github.com/bowline-dev/bowline/golden/recorded"
)

// A kube-controller-manager 1.36 was shown two pods, one of them ready, and a budget: what it counted is counted here.
func TestWhatKubernetesCountedIsCountedHere(t *testing.T) {
	t.Parallel()
	manage := bowlinetest.Manage(func(m *controller.Manager) error {
		disruption.Add(m)
		return nil
	})
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		c := kubernetes.NewForConfigOrDie(p.Config())
		for _, pod := range []string{"web-0", "web-1"} {
			post(t, c, "/api/v1/namespaces/default/pods",
				`{"metadata":{"name":"`+pod+`","labels":{"app":"web"}},"spec":{"containers":[{"name":"nginx","image":"nginx"}]}}`)
		}
		ready := `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`
		err := c.CoreV1().RESTClient().Patch("application/merge-patch+json").AbsPath("/api/v1/namespaces/default/pods/web-0/status").
			Body([]byte(ready)).Do(context.Background()).Error()
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range recorded.Steps(t, "controllers/controllers-others.json") {
			switch {
			case !strings.Contains(step.Path, "/poddisruptionbudgets"):
			case step.Method == http.MethodPost:
				post(t, c, step.Path, step.Body)
				time.Sleep(2 * time.Second)
			default:
				got, err := c.CoreV1().RESTClient().Get().AbsPath(step.Path).SetHeader("Accept", "application/json").Do(context.Background()).Raw()
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(recorded.Plain(step.Response.JSON(t)), recorded.Plain(parse(t, got))); diff != "" {
					t.Errorf("%s: -recorded +answered\n%s", step.Path, diff)
				}
				return
			}
		}
		t.Error("no budget was recorded")
	}, alone(), manage)
}

func post(t *testing.T, c kubernetes.Interface, path, body string) {
	t.Helper()
	err := c.CoreV1().RESTClient().Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(context.Background()).Error()
	if err != nil {
		t.Fatal(err)
	}
}

func parse(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
