package server_test

import (
	"cmp"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

const (
	deploymentRoute = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
	rollbackRoute   = "/apis/extensions/v1beta1/namespaces/{namespace}/deployments/{name}/rollback"
	podRoute        = "/api/v1/namespaces/{namespace}/pods/{name}"
	secretRoute     = "/api/v1/namespaces/{namespace}/secrets/{name}"
)

// requestsOfVerbs are requests about objects named a, one or more for each row of the document.
var requestsOfVerbs = []struct{ verb, method, route, body, sent string }{
	{"get", http.MethodGet, configMapsRoute, "", ""},
	{"get", http.MethodGet, configMapRoute, "", ""},
	{"patch", http.MethodPatch, configMapsRoute, `{"data":{"k":"v"}}`, mergeType},
	{"patch", http.MethodPatch, secretRoute, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`,
		applyType},
	{"update", http.MethodPut, configMapsRoute, `{"metadata":{"name":"a"},"data":{"k":"w"}}`, ""},
	{"scale", http.MethodPatch, deploymentRoute + "/scale", `{"spec":{"replicas":3}}`, mergeType},
	{"scale", http.MethodPost, rollbackRoute, `{"name":"a","rollbackTo":{"revision":0}}`, ""},
	{"bind", http.MethodPost, podRoute + "/binding", `{"metadata":{"name":"a"},"target":{"kind":"Node","name":"n"}}`,
		""},
	{"evict", http.MethodPost, podRoute + "/eviction", evictionOf("a"), ""},
	{"delete", http.MethodDelete, configMapsRoute, "", ""},
	{"deletecollection", http.MethodDelete, configMapRoute, "", ""},
}

// Each verb has the stages that docs/request.md lists.
func TestTraceStagesMatchDocument(t *testing.T) {
	t.Parallel()
	w := startTraced(t, start)
	w.createConfigMaps(t, "default", "a", "b")
	w.create(t, deployments, deploymentBody("a"))
	w.create(t, podsPath, `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	drawn := documentedStages(t)
	for _, r := range requestsOfVerbs {
		path := strings.NewReplacer("{namespace}", "default", "{name}", "a").Replace(r.route) + "?fieldManager=test"
		if answer := w.send(t, r.method, path, r.body, "Content-Type", cmp.Or(r.sent, jsonType)); answer.code/100 != 2 {
			t.Fatalf("%s %s: %d %s", r.method, path, answer.code, answer.body)
		}
		got := strings.Join(w.stages(t, w.one(t, r.method+" "+r.route)), " ")
		if want := "authenticate authorize route " + drawn[r.verb]; got != want {
			t.Errorf("%s the stages of %s are\n%s, want\n%s", r.method, r.route, got, want)
		}
	}
	w.get(t, "/version").want(t, http.StatusOK)
	if got := strings.Join(w.stages(t, w.one(t, "GET")), " "); got != "authenticate authorize route answer" {
		t.Errorf("the stages of a request without an object are %s", got)
	}
}

// documentedStages returns the stages after route that the document lists for each verb except create, by the
// first word of the row.
func documentedStages(t *testing.T) map[string]string {
	t.Helper()
	_, rows, _ := strings.Cut(string(must(os.ReadFile("../../docs/request.md"))(t)), "## The other verbs")
	drawn, aside := map[string]string{}, regexp.MustCompile(` \([^)]*\)`)
	for _, row := range regexp.MustCompile(`(?m)^\| (\w+)[\w, ]* \| (.*) \|$`).FindAllStringSubmatch(rows, -1) {
		drawn[row[1]] = strings.ReplaceAll(aside.ReplaceAllString(row[2], ""), ", ", " ")
	}
	return drawn
}
