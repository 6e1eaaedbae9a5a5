package deployment_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/golden/recorded"
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
			status, got := request(t, p.Config(), step, names)
			for name, path := range step.Save {
				names[name] = at(got, path)
			}
			if !isOurs(step) {
				continue
			}
			compared++
			want := step.Response.JSON(t)
			if status != step.Response.Status || !reflect.DeepEqual(comparable(got), comparable(want)) {
				t.Errorf("step %d, %s %s, is another:\nis:   %d %s\nwant: %d %s", i, step.Method, step.Path,
					status, text(comparable(got)), step.Response.Status, text(comparable(want)))
			}
		}
		if compared < 15 {
			t.Errorf("%d answers were compared", compared)
		}
	}, alone(), bowlinetest.Manage(manage))
}

// request sends a step, with the names that earlier ones have saved.
func request(t *testing.T, config *rest.Config, step recorded.Step, names map[string]string) (int, any) {
	path := step.Path
	for name, value := range names {
		path = strings.ReplaceAll(path, "{{"+name+"}}", value)
	}
	r, err := http.NewRequestWithContext(t.Context(), step.Method, config.Host+path, bytes.NewReader([]byte(step.Body)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range step.Headers {
		r.Header.Set(name, value)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return response.StatusCode, v
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

// comparable is an answer without what differs from one server to another: times and uids, the random ends of names, what admission
// gave to a pod, and who else told of an event.
func comparable(v any) any {
	switch v := recorded.Plain(v).(type) {
	case map[string]any:
		kept := map[string]any{}
		if v["status"] != nil && at(v, "metadata.generateName") != "" {
			delete(v, "spec")
		}
		if v["involvedObject"] != nil {
			return map[string]any{"type": v["type"], "reason": v["reason"], "message": v["message"], "count": v["count"], "source": v["source"]}
		}
		for name, value := range v {
			if name != "lastUpdateTime" && name != "deletionTimestamp" {
				kept[name] = comparable(value)
			}
		}
		return kept
	case []any:
		kept := []any{}
		for _, item := range v {
			if event := comparable(item); at(event, "source.component") == "" || at(event, "source.component") == "deployment-controller" {
				kept = append(kept, event)
			}
		}
		return recorded.Plain(kept)
	case string:
		v = created.ReplaceAllString(suffix.ReplaceAllString(v, "$1-#"), "ReplicaSet $1 is progressing.")
		return strings.ReplaceAll(v, "NewReplicaSetCreated", "ReplicaSetUpdated")
	default:
		return v
	}
}

// at is the text at a dotted path, or none.
func at(v any, path string) string {
	for part := range strings.SplitSeq(path, ".") {
		switch w := v.(type) {
		case map[string]any:
			v = w[part]
		case []any:
			v = w[part[0]-'0']
		}
	}
	s, _ := v.(string)
	return s
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
