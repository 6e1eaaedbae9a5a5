package bowlinetest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/golden"
)

// The recording shows kube-apiserver and kube-controller-manager 1.36 with a quota, a namespace's deletion,
// and objects whose owner is deleted or never existed. A default plane must answer the same.
func TestRecordedKubernetesLife(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		for n := range 5 { // pods of the recorded cluster that the quota counts
			p.Apply(t,
				fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: web-%d}, spec: {containers: [{name: web, image: web}]}}`, n))
		}
		saved, compared, started := map[string]string{}, 0, false
		for i, step := range golden.Steps(t, "controllers/controllers-others.json") {
			started = started || step.Method == http.MethodPost && strings.HasSuffix(step.Path, "/resourcequotas")
			switch {
			case !started || step.Response.Status == http.StatusForbidden: // quotas are counted, not enforced
				continue
			case step.Method == "":
				time.Sleep(time.Duration(step.Sleep * float64(time.Second)))
				continue
			}
			status, got := golden.Send(t, p.RESTConfig(), step, saved)
			want := comparedLife(step.Response.JSON(t))
			if step.StatusOnly {
				got, want = nil, nil
			}
			compared++
			if diff := cmp.Diff(want, comparedLife(got)); status != step.Response.Status || diff != "" {
				t.Errorf("step %d, %s %s: %d, want %d; -recorded +answered\n%s", i, step.Method, step.Path, status,
					step.Response.Status, diff)
			}
		}
		if compared < 15 {
			t.Errorf("got %d compared answers", compared)
		}
	})
}

// comparedLife removes from a response what differs between servers. It also removes the conditions of a
// namespace that is being deleted, which the recorded controller had not written yet at that time.
func comparedLife(v any) any {
	return golden.NormalizeWith(v, func(object map[string]any, field string) bool {
		return field == "deletionTimestamp" || field == "conditions" || field == "ownerReferences"
	}, nil)
}
