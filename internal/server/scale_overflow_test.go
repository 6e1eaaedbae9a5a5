package server_test

import (
	"net/http"
	"testing"
)

// An applied scale with replicas out of range is refused rather than truncated.
func TestApplyScaleRejectsOverflow(t *testing.T) {
	t.Parallel()
	w := start(t)
	const deployments = "/apis/apps/v1/namespaces/default/deployments"
	w.create(t, deployments,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},
	  "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}`)
	for _, replicas := range []string{"1e30", "4294967296", "-1e30"} {
		w.send(t, http.MethodPatch, deployments+"/a/scale?fieldManager=a&force=true",
			`{"apiVersion":"autoscaling/v1","kind":"Scale","spec":{"replicas":`+replicas+`}}`,
			"Content-Type", "application/apply-patch+yaml").wantError(t, http.StatusInternalServerError, "", "replicas")
	}
	if got := valueAt(w.get(t, deployments+"/a").want(t, http.StatusOK).object(t), "spec", "replicas"); got != 2.0 {
		t.Errorf("%v replicas", got)
	}
}
