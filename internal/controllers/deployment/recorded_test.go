package deployment_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/trial"
)

// The test sends the requests that were recorded with a kube-apiserver and a kube-controller-manager 1.36: a
// Deployment, pods that become ready, a deleted pod, a pod that only matches the selector, a new image, a
// pause with a new size, and the deletion.
func TestRecordedKubernetesDeployment(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		names, compared := map[string]string{}, 0
		for i, step := range golden.Steps(t, "controllers/controllers-deployment.json") {
			if step.Method == "" {
				time.Sleep(time.Duration(step.Sleep * float64(time.Second)))
				continue
			}
			status, got := golden.Send(t, p.RESTConfig(), step, names)
			if !isOurs(step) {
				continue
			}
			compared++
			is, want := comparable(got), comparable(step.Response.JSON(t))
			if diff := cmp.Diff(want, is); status != step.Response.Status || diff != "" {
				t.Errorf("step %d, %s %s: got status %d, want %d; -recorded +answered\n%s", i, step.Method, step.Path,
					status, step.Response.Status, diff)
			}
		}
		if compared < 15 {
			t.Errorf("got %d compared responses, want at least 15", compared)
		}
	}, trial.Alone(), bowlinetest.Manage(manage))
}

// isOurs reports whether a response shows the work of the controllers under test. Tables depend on the kinds
// only, and Endpoints are another controller's.
func isOurs(step golden.Step) bool {
	return !step.StatusOnly && step.Method != http.MethodPost &&
		!strings.Contains(step.Headers["Accept"], "as=Table") &&
		about.MatchString(step.Path)
}

var about = regexp.MustCompile(`/(deployments|replicasets|pods|events)\b`)

// suffix matches the random suffix of a pod's name.
var suffix = regexp.MustCompile(`(nginx-[0-9a-z]{8,10})-[0-9a-z]{5}\b`)

// created matches the condition message of a rollout's first step. On a slow server that step is not observed, so
// comparable replaces the message with that of the next step.
var created = regexp.MustCompile(`Created new replica set ("nginx-[0-9a-z]*")`)

// comparable returns a response without the values that differ between servers: times, UIDs, random suffixes
// of names, fields that pod admission sets, and events of other controllers.
func comparable(v any) any {
	return golden.NormalizeWith(withoutForeignEvents(v), differs, func(s string) string {
		s = created.ReplaceAllString(suffix.ReplaceAllString(s, "$1-#"), "ReplicaSet $1 is progressing.")
		return strings.ReplaceAll(s, "NewReplicaSetCreated", "ReplicaSetUpdated")
	})
}

// withoutForeignEvents returns a list without the events of other controllers.
func withoutForeignEvents(v any) any {
	list, ok := v.(map[string]any)
	items, isList := list["items"].([]any)
	if !ok || !isList {
		return v
	}
	list["items"] = slices.DeleteFunc(items, func(item any) bool {
		component := golden.Lookup(item, "source.component")
		return component != "" && component != "deployment-controller"
	})
	return list
}

func differs(object map[string]any, field string) bool {
	switch {
	case object["involvedObject"] != nil:
		return !slices.Contains([]string{"type", "reason", "message", "count", "source"}, field)
	case field == "spec":
		return object["status"] != nil && golden.Lookup(object, "metadata.generateName") != ""
	}
	return field == "lastUpdateTime" || field == "deletionTimestamp"
}
