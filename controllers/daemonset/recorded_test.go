package daemonset_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/golden/recorded"
)

// The same requests as were sent to a kube-apiserver with a kube-controller-manager 1.36, which had a node called n1, are sent here.
// Hashes, labels, tolerations, affinity and the status are the same; the pod's name has another end.
func TestWhatKubernetesMadeOfADaemonSetIsMadeHere(t *testing.T) {
	t.Parallel()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		if err := ready(t.Context(), p.Config()); err != nil {
			t.Fatal(err)
		}
		names, compared := map[string]string{}, 0
		for i, step := range recorded.Steps(t, "controllers/controllers-others.json")[9:13] {
			if step.Method == "" {
				time.Sleep(time.Duration(step.Sleep * float64(time.Second)))
				continue
			}
			compared++
			status, got := recorded.Send(t, p.Config(), step, names)
			is, want := comparable(got), comparable(step.Response.JSON(t))
			if status != step.Response.Status || !reflect.DeepEqual(is, want) {
				t.Errorf("step %d, %s %s, is another:\nis:   %d %s\nwant: %d %s", i+9, step.Method, step.Path,
					status, text(is), step.Response.Status, text(want))
			}
		}
		if compared != 3 {
			t.Errorf("%d answers were compared", compared)
		}
	}, alone(), bowlinetest.Objects(node), bowlinetest.Manage(manage))
}

// suffix is the end of a pod's name.
var suffix = regexp.MustCompile(`^(agent-)[0-9a-z]{5}$`)

// comparable is an answer without what differs from one server to another, and what a pod's admission sets.
func comparable(v any) any {
	switch v := recorded.Plain(v).(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, value := range v {
			if name != "priority" && name != "preemptionPolicy" {
				kept[name] = comparable(value)
			}
		}
		return kept
	case []any:
		for i := range v {
			v[i] = comparable(v[i])
		}
		return v
	case string:
		return suffix.ReplaceAllString(v, "$1#")
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
