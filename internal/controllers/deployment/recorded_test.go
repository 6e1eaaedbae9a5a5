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
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/internal/golden/recorded"
)

// The same requests as were sent to a kube-apiserver with a kube-controller-manager 1.36 are sent here: a deployment, pods that
// become ready, one that is deleted, one that matches the selector alone, another image, a pause with another size, and the end.
func TestWhatKubernetesMadeOfADeploymentIsMadeHere(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		names, compared := map[string]string{}, 0
		for i, step := range recorded.Steps(t, "controllers/controllers-deployment.json") {
			if step.Method == "" {
				time.Sleep(time.Duration(step.Sleep * float64(time.Second)))
				continue
			}
			status, got := recorded.Send(t, p.Config(), step, names)
			if !isOurs(step) {
				continue
			}
			compared++
			is, want := comparable(got), comparable(step.Response.JSON(t))
			if diff := cmp.Diff(want, is); status != step.Response.Status || diff != "" {
				t.Errorf("step %d, %s %s: %d, want %d; -recorded +answered\n%s", i, step.Method, step.Path,
					status, step.Response.Status, diff)
			}
		}
		if compared < 15 {
			t.Errorf("%d answers were compared", compared)
		}
	}, trial.Alone(), bowlinetest.Manage(manage))
}

// isOurs says whether an answer shows what the controllers did: Tables are the kinds' own, and endpoints another controller's.
func isOurs(step recorded.Step) bool {
	return !step.StatusOnly && step.Method != http.MethodPost && !strings.Contains(step.Headers["Accept"], "as=Table") &&
		about.MatchString(step.Path)
}

var about = regexp.MustCompile(`/(deployments|replicasets|pods|events)\b`)

// suffix is the random end of a pod's name.
var suffix = regexp.MustCompile(`(nginx-[0-9a-z]{8,10})-[0-9a-z]{5}\b`)

// created is how far a rollout is in its first moments: a server that is slower writes one of its steps less.
var created = regexp.MustCompile(`Created new replica set ("nginx-[0-9a-z]*")`)

// comparable is an answer without what differs from one server to another: times and uids, the random ends of names, what
// admission gave to a pod, and what others have told.
func comparable(v any) any {
	return recorded.Alike(ours(v), differs, func(s string) string {
		s = created.ReplaceAllString(suffix.ReplaceAllString(s, "$1-#"), "ReplicaSet $1 is progressing.")
		return strings.ReplaceAll(s, "NewReplicaSetCreated", "ReplicaSetUpdated")
	})
}

// ours is a list without the events that another controller told.
func ours(v any) any {
	list, ok := v.(map[string]any)
	items, isList := list["items"].([]any)
	if !ok || !isList {
		return v
	}
	list["items"] = slices.DeleteFunc(items, func(item any) bool {
		by := recorded.At(item, "source.component")
		return by != "" && by != "deployment-controller"
	})
	return list
}

func differs(object map[string]any, field string) bool {
	switch {
	case object["involvedObject"] != nil:
		return !slices.Contains([]string{"type", "reason", "message", "count", "source"}, field)
	case field == "spec":
		return object["status"] != nil && recorded.At(object, "metadata.generateName") != ""
	}
	return field == "lastUpdateTime" || field == "deletionTimestamp"
}
