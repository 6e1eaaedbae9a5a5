package statefulset_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/golden/recorded"
)

// The same requests as were sent to a kube-apiserver with a kube-controller-manager 1.36 are sent here: a set of two with claims,
// whose first pod becomes ready. Names and hashes are the same, and so are labels, volumes and the status.
func TestWhatKubernetesMadeOfAStatefulSetIsMadeHere(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		names, compared := map[string]string{}, 0
		for i, step := range recorded.Steps(t, "controllers/controllers-others.json")[:9] {
			if step.Method == "" {
				time.Sleep(time.Duration(step.Sleep * float64(time.Second)))
				continue
			}
			status, got := recorded.Send(t, p.Config(), step, names)
			if step.StatusOnly {
				continue
			}
			compared++
			is, want := comparable(got), comparable(step.Response.JSON(t))
			if status != step.Response.Status || !reflect.DeepEqual(is, want) {
				t.Errorf("step %d, %s %s, is another:\nis:   %d %s\nwant: %d %s", i, step.Method, step.Path,
					status, text(is), step.Response.Status, text(want))
			}
		}
		if compared != 6 {
			t.Errorf("%d answers were compared", compared)
		}
	}, alone(), bowlinetest.Manage(manage))
}

// admitted are what a pod's admission sets, which is nothing of the controller's.
var admitted = []string{"tolerations", "priority", "preemptionPolicy"}

// comparable is an answer without what differs from one server to another.
func comparable(v any) any {
	switch v := recorded.Plain(v).(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, value := range v {
			kept[name] = comparable(value)
		}
		for _, name := range admitted {
			delete(kept, name)
		}
		return kept
	case []any:
		for i := range v {
			v[i] = comparable(v[i])
		}
		return v
	default:
		return v
	}
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
