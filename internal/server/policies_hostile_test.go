package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/store/storetest"
)

// TestExpensivePolicy checks that a policy that costs too much for an object of a megabyte ends at the limit: the
// failure policy decides. The unit tests of the plugin have more such policies.
func TestExpensivePolicy(t *testing.T) {
	t.Parallel()
	w := start(t)
	items := make([]string, 8_000)
	for i := range items {
		items[i] = fmt.Sprintf(`"key-%05d":"%0100d"`, i, i)
	}
	body := `{"metadata":{"name":"a"},"data":{` + strings.Join(items, ",") + `}}`
	costly := validate(slices.Repeat([]string{"object == object"}, 60)...)
	enact(t, w, "p", costly, "")
	r := w.send(t, http.MethodPost, configMaps, body)
	r.wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
		"denied request: validation failed due to running out of cost budget, no further validation rules will be run")
	repeal(t, w, "p")
	enact(t, w, "p", `"failurePolicy":"Ignore",`+costly, "")
	w.send(t, http.MethodPost, configMaps+"?dryRun=All", body).want(t, http.StatusCreated)
	// A client cannot turn a policy off by making another one costly, although its failure policy is Ignore.
	enact(t, w, "q", `"failurePolicy":"Ignore",`+validate("true"), "")
	w.send(t, http.MethodPost, configMaps, body).wantError(t, http.StatusUnprocessableEntity,
		metav1.StatusReasonInvalid, "earlier policies have used up the cost budget of the request")
	w.createConfigMaps(t, "default", "small")
}

// TestRestartUnderPolicyThatRejectsEverything checks that a server starts although a policy would reject the objects
// that it creates, and that the policy can then be deleted.
func TestRestartUnderPolicyThatRejectsEverything(t *testing.T) {
	t.Parallel()
	journal := storetest.NewJournal()
	w := start(t, storedIn(journal))
	enact(t, w, "p", validate("false")+`,"matchConstraints":{"resourceRules":[{"operations":["*"],"apiGroups":["*"],
		"apiVersions":["*"],"resources":["*/*"]}]}`, "")
	w = w.restart(t, journal)
	w.send(t, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`).wantError(t, http.StatusUnprocessableEntity,
		metav1.StatusReasonInvalid, "denied request: failed expression: false")
	repeal(t, w, "p")
	w.createConfigMaps(t, "default", "a")
}
