package server_test

import (
	"net/http"
	"testing"
	"testing/synctest"
)

// TestPoliciesSeeConnections checks that a policy with a rule for CONNECT sees the options of an exec, and rejects it
// before the server looks for the node.
func TestPoliciesSeeConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.create(t, podsPath, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"},`+
			`{"name":"secret","image":"i"}]}}`)
		enact(t, w, "exec", `"matchConstraints":{"resourceRules":[{"operations":["CONNECT"],"apiGroups":[""],`+
			`"apiVersions":["v1"],"resources":["pods/exec"]}]},`+validate("request.operation == 'CONNECT' && "+
			"request.options == null && object.kind == 'PodExecOptions' && object.container != 'secret'"), "")
		exec := podsPath + "/p/exec?command=ls&container="
		w.send(t, http.MethodPost, exec+"secret", "").wantError(t, http.StatusUnprocessableEntity, "Invalid",
			"object.container != 'secret'")
		w.send(t, http.MethodPost, exec+"c", "").wantError(t, http.StatusBadRequest, "BadRequest",
			"pod p does not have a host assigned")
	})
}
