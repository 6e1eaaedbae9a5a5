package cronjob_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/bowlinetest/trial"
	"github.com/bowline-dev/bowline/internal/golden/recorded"
)

// The same requests as were sent to a kube-apiserver with a kube-controller-manager 1.36 are sent here: a job of two, one of
// whose pods succeeds, and a cronjob whose day never comes.
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
			status, got := recorded.Send(t, p.Config(), step, saved)
			if step.StatusOnly || step.Response.Body == nil || strings.Contains(step.Headers["Accept"], "as=Table") {
				continue
			}
			compared++
			is, want := comparable(got), comparable(step.Response.JSON(t))
			if diff := cmp.Diff(want, is); status != step.Response.Status || diff != "" {
				t.Errorf("step %d, %s %s: %d, want %d; -recorded +answered\n%s", i, step.Method, step.Path,
					status, step.Response.Status, diff)
			}
		}
		if compared < 5 {
			t.Errorf("%d answers were compared", compared)
		}
	}, trial.Alone(), bowlinetest.Manage(manage))
}

var (
	uid    = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	suffix = regexp.MustCompile(`^once-[0-9a-z]{5}$`)
)

// comparable is an answer without what differs from one server to another: times, uids and the random ends of names, and what
// admission gives to a pod.
func comparable(v any) any {
	return recorded.Alike(v, func(object map[string]any, field string) bool {
		return field == "startTime" || field == "spec" && recorded.At(object, "metadata.generateName") != ""
	}, func(s string) string {
		if uid.MatchString(s) {
			return "a uid"
		}
		return suffix.ReplaceAllString(s, "once-#")
	})
}
