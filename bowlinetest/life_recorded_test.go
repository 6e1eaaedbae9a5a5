package bowlinetest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/golden/recorded"
)

// A kube-apiserver with a kube-controller-manager 1.36 was shown a quota, the end of a namespace, and objects whose owner went or
// never was. What came of them there comes of them here, on a plane as it is by default.
func TestWhatKubernetesMadeOfTheLifeOfAClusterIsMadeHere(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		for n := range 5 { // which were there by then, and which the quota counts
			p.Apply(t, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: web-%d}, spec: {containers: [{name: web, image: web}]}}`, n))
		}
		saved, compared, begun := map[string]string{}, 0, false
		for i, step := range recorded.Steps(t, "controllers/controllers-others.json") {
			begun = begun || step.Method == http.MethodPost && strings.HasSuffix(step.Path, "/resourcequotas")
			switch {
			case !begun || step.Response.Status == http.StatusForbidden: // a quota is counted here, and refuses nothing
				continue
			case step.Method == "":
				time.Sleep(time.Duration(step.Sleep * float64(time.Second)))
				continue
			}
			status, got := recorded.Send(t, p.Config(), step, saved)
			want := comparedLife(step.Response.JSON(t))
			if step.StatusOnly {
				got, want = nil, nil
			}
			compared++
			if diff := cmp.Diff(want, comparedLife(got)); status != step.Response.Status || diff != "" {
				t.Errorf("step %d, %s %s: %d, want %d; -recorded +answered\n%s", i, step.Method, step.Path, status, step.Response.Status, diff)
			}
		}
		if compared < 15 {
			t.Errorf("%d answers were compared", compared)
		}
	})
}

// comparedLife is an answer without what differs from one server to another. The conditions of a namespace that ends are left
// out: the recorded controller had not come to write them when it was asked.
func comparedLife(v any) any {
	return recorded.Alike(v, func(object map[string]any, field string) bool {
		return field == "deletionTimestamp" || field == "conditions" || field == "ownerReferences"
	}, nil)
}
