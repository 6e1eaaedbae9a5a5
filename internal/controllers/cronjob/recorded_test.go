package cronjob_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/bowlinetest"
	"github.com/bowline-dev/bowline/internal/golden"
	"github.com/bowline-dev/bowline/internal/trial"
)

// The recording has a kube-apiserver's answers, with kube-controller-manager 1.36, to the same requests: a
// job of two completions, one of whose pods succeeds, and a cronjob whose next run is never due.
func TestRecordedKubernetesJobs(t *testing.T) {
	t.Parallel()
	bowlinetest.Bubble(t, func(t *testing.T, p *bowlinetest.Plane) {
		saved, compared, batch := map[string]string{}, 0, false
		for i, step := range golden.Steps(t, "controllers/controllers-others.json") {
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
			status, got := golden.Send(t, p.RESTConfig(), step, saved)
			if step.StatusOnly || step.Response.Body == nil || strings.Contains(step.Headers["Accept"], "as=Table") {
				continue
			}
			compared++
			is, want := comparable(got), comparable(step.Response.JSON(t))
			if diff := cmp.Diff(want, is); status != step.Response.Status || diff != "" {
				t.Errorf("step %d, %s %s: got status %d, want %d; -recorded +answered\n%s", i, step.Method, step.Path,
					status, step.Response.Status, diff)
			}
		}
		if compared < 5 {
			t.Errorf("got %d compared responses, want at least 5", compared)
		}
	}, trial.Alone(), bowlinetest.Manage(manage))
}

var (
	uid    = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	suffix = regexp.MustCompile(`^once-[0-9a-z]{5}$`)
)

// comparable removes from an answer what differs between servers: times, uids, random name suffixes, and what
// admission adds to pods.
func comparable(v any) any {
	return golden.NormalizeWith(v, func(object map[string]any, field string) bool {
		return field == "startTime" || field == "spec" && golden.Lookup(object, "metadata.generateName") != ""
	}, func(s string) string {
		if uid.MatchString(s) {
			return "a uid"
		}
		return suffix.ReplaceAllString(s, "once-#")
	})
}
