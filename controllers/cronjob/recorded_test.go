package cronjob_test

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

// The same requests as were sent to a kube-apiserver with a kube-controller-manager 1.36 are sent here: a job of two, one of whose
// pods succeeds, and a cronjob whose day never comes.
func TestWhatKubernetesMadeOfAJobIsMadeHere(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		saved, compared, batch := map[string]string{}, 0, false
		for i, step := range recorded.Steps(t, "controllers/controllers-others.json") {
			if step.Method == http.MethodPost {
				batch = strings.HasPrefix(step.Path, "/apis/batch/")
			}
			if !batch {
				continue
			}
			if step.Method == "" {
				time.Sleep(time.Duration(step.Sleep * float64(time.Second)))
				continue
			}
			status, got := request(t, p.Config(), step, saved)
			for name, path := range step.Save {
				if path != "items.0.metadata.name" {
					t.Fatalf("step %d saves %s", i, path)
				}
				items := got.(map[string]any)["items"].([]any)
				saved[name] = items[0].(map[string]any)["metadata"].(map[string]any)["name"].(string)
			}
			if step.StatusOnly || step.Response.Body == nil || strings.Contains(step.Headers["Accept"], "as=Table") {
				continue
			}
			compared++
			want := comparable(step.Response.JSON(t))
			if got := comparable(got); status != step.Response.Status || !reflect.DeepEqual(got, want) {
				t.Errorf("step %d, %s %s, is another:\nis:   %d %v\nwant: %d %v", i, step.Method, step.Path, status, got, step.Response.Status, want)
			}
		}
		if compared < 5 {
			t.Errorf("%d answers were compared", compared)
		}
	}, alone(), bowlinetest.Manage(manage))
}

// request sends a step, with the names that earlier ones have saved.
func request(t *testing.T, config *rest.Config, step recorded.Step, saved map[string]string) (int, any) {
	t.Helper()
	path := step.Path
	for name, value := range saved {
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

var (
	uid    = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	suffix = regexp.MustCompile(`^once-[0-9a-z]{5}$`)
)

// comparable is an answer without what differs from one server to another: times, uids and the random ends of names, and what
// admission gives to a pod.
func comparable(v any) any {
	switch v := recorded.Plain(v).(type) {
	case map[string]any:
		if meta, ok := v["metadata"].(map[string]any); ok && meta["generateName"] != nil {
			delete(v, "spec")
		}
		delete(v, "startTime")
		for name, value := range v {
			v[name] = comparable(value)
		}
		return v
	case []any:
		for i := range v {
			v[i] = comparable(v[i])
		}
		return v
	case string:
		if uid.MatchString(v) {
			return "a uid"
		}
		return suffix.ReplaceAllString(v, "once-#")
	default:
		return v
	}
}
