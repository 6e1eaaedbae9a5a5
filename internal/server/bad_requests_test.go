package server_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// badRequest is a request that must be refused. The first word of what is the method, the second the path.
type badRequest struct {
	what, body string
	// as is the media type of the body, JSON when empty.
	as string
	// header is one more header, as "Name: value".
	header string

	code   int
	reason metav1.StatusReason
	text   string // stands in the message
}

const (
	badRequestReason = metav1.StatusReasonBadRequest
	invalidReason    = metav1.StatusReasonInvalid
	jsonPatchType    = "application/json-patch+json"
	strategicType    = "application/strategic-merge-patch+json"

	pods        = "/api/v1/namespaces/default/pods"
	deployments = "/apis/apps/v1/namespaces/default/deployments"
)

// TestBadRequestsChangeNothing sends bad requests to one server. Each answer is a Status that
// describes the error, the store does not change, and the server still serves. The answers are in
// testdata/bad_requests.txt. The texts of the tables in this file are those of the recordings, or of
// k8s.io/apiserver (pkg/endpoints/handlers) and the validation of k8s.io/apimachinery; other tables name
// their sources.
func TestBadRequestsChangeNothing(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.createConfigMaps(t, "default", "a")
	w.create(t, widgetsPath, widget("a", `{"size":1}`))
	w.create(t, deployments, plainDeployment)
	define(t, w, definitionOf(t, ruledDefinition))
	w.create(t, ruledPath, ruledWith("a", `"n":1`))
	w.send(t, http.MethodPatch, configMaps+"/a?fieldManager=owner",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"owned":"1"}}`, "Content-Type",
		applyType).want(t, http.StatusOK)
	kept := []string{"/api/v1/namespaces", "/api/v1/configmaps", "/api/v1/secrets", "/api/v1/pods", "/api/v1/services",
		"/api/v1/nodes",
		"/apis/apps/v1/deployments", "/apis/coordination.k8s.io/v1/leases", "/apis/example.com/v1/widgets",
		"/apis/example.com/v1/ruleds", definitionsPath}
	before := w.state(t, kept...)
	count := 0
	var answers strings.Builder
	for _, table := range [][]badRequest{badBodies, badObjects, badPatches, badURLs, badLists, badDeletes,
		badDefinitions,
		badSchemas, badVersions, badRules, badInstances, badApplies, badOptions} {
		for _, bad := range table {
			count++
			method, path, _ := strings.Cut(bad.what, " ")
			headers := []string{"Content-Type", jsonType}
			if bad.as != "" {
				headers[1] = bad.as
			}
			if name, value, ok := strings.Cut(bad.header, ": "); ok {
				headers = append(headers, name, value)
			}
			r := w.send(t, method, path, bad.body, headers...)
			if r.code != bad.code {
				t.Errorf("%s %.200q: %d, want %d: %s", bad.what, bad.body, r.code, bad.code, r.body)
				continue
			}
			var s metav1.Status
			r.into(t, &s)
			if s.Kind != "Status" || s.Status != metav1.StatusFailure || s.Code != int32(bad.code) ||
				s.Reason != bad.reason {
				t.Errorf("%s %.200q: %s, want a Status of reason %q", bad.what, bad.body, r.body, bad.reason)
			}
			if s.Message == "" || !strings.Contains(s.Message, bad.text) {
				t.Errorf("%s %.200q: message %q, want one with %q", bad.what, bad.body, s.Message, bad.text)
			}
			answers.WriteString(formatAnswer(bad, s))
			if now := w.state(t, kept...); now != before {
				t.Fatalf("%s %.200q changed the stored objects", bad.what, bad.body)
			}
		}
	}
	if count < 200 {
		t.Errorf("%d bad requests, want at least 200", count)
	}
	compareFile(t, "testdata/bad_requests.txt", answers.String())
	w.get(t, "/readyz").want(t, http.StatusOK)
	w.createConfigMaps(t, "default", "afterwards")
}

// formatAnswer formats an answer as a paragraph: the request, code and reason, message, causes. It leaves out what
// differs between runs, and truncates long texts.
func formatAnswer(bad badRequest, s metav1.Status) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %.160q\n  %d %s\n  %.1000q\n", bad.what, bad.body, s.Code, s.Reason, s.Message)
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			fmt.Fprintf(&out, "  - %s %s: %.300q\n", cause.Type, cause.Field, cause.Message)
		}
	}
	return volatile.ReplaceAllString(out.String(), "<>")
}

// volatile matches uids, times, revisions and generated names.
var volatile = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ|\b1\d{15}\b|Not_[a-z0-9]{5}`)

// compareFile compares a text with a file, paragraph by paragraph. With BOWLINE_RECORD=1 it writes the file
// instead; compare the changes with the sources that the tables name.
func compareFile(t *testing.T, file, text string) {
	t.Helper()
	if os.Getenv("BOWLINE_RECORD") != "" {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(kept), "\n"), strings.Split(text, "\n")); diff != "" {
		t.Errorf("the answers differ from %s (- file, + now):\n%s", file, diff)
	}
}

const plainDeployment = `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`

// badBodies cannot be decoded, or not as the kind of the URL.
var badBodies = []badRequest{
	{what: "POST " + configMaps, body: ``, code: 400, reason: badRequestReason},
	{what: "POST " + configMaps, body: `{`, code: 400, reason: badRequestReason,
		text: "couldn't get version/kind; json parse error"},
	{what: "POST " + configMaps, body: `{"metadata":{"name":"x"}} trailing`, code: 400, reason: badRequestReason},
	{what: "POST " + configMaps, body: `[]`, code: 400, reason: badRequestReason},
	{what: "POST " + configMaps, body: `"text"`, code: 400, reason: badRequestReason},
	{what: "POST " + configMaps, body: `7`, code: 400, reason: badRequestReason},
	{what: "POST " + configMaps, body: "{ // a comment\n}", code: 400, reason: badRequestReason},
	{what: "POST " + configMaps, body: strings.Repeat("[", 20000), code: 400, reason: badRequestReason},
	{what: "POST " + configMaps, body: strings.Repeat(`{"a":`, 20000), code: 400, reason: badRequestReason},
	{what: "POST " + configMaps, body: `{"metadata":{"name":7}}`, code: 400, reason: badRequestReason, text: "string"},
	{what: "POST " + configMaps, body: `{"data":{"a":1}}`, code: 400, reason: badRequestReason, text: "string"},
	{what: "POST " + configMaps, body: `{"binaryData":{"a":"no base64!"}}`, code: 400, reason: badRequestReason,
		text: "illegal base64"},
	{what: "POST " + configMaps, body: "metadata:\n  name: x\n // comment", as: yamlType, code: 400,
		reason: badRequestReason},
	{what: "POST " + configMaps, body: "a: b: c", as: yamlType, code: 400, reason: badRequestReason, text: "yaml"},
	{what: "POST " + configMaps, body: "metadata: &x [*x]", as: yamlType, code: 400, reason: badRequestReason},
	{what: "POST " + configMaps, body: "a: \x80", as: yamlType, code: 400, reason: badRequestReason},
	{what: "POST " + configMaps, body: "k8s\x00\xff\xff", as: protobufType, code: 400, reason: badRequestReason},
	{what: "POST " + configMaps, body: "no protobuf", as: protobufType, code: 400, reason: badRequestReason},
	{what: "POST " + configMaps, body: `a=b`, as: "application/x-www-form-urlencoded", code: 415,
		reason: metav1.StatusReasonUnsupportedMediaType},
	{what: "POST " + configMaps, body: `<x/>`, as: "application/xml", code: 415,
		reason: metav1.StatusReasonUnsupportedMediaType},
	{what: "POST " + configMaps, body: `{}`, as: "no media type", code: 415,
		reason: metav1.StatusReasonUnsupportedMediaType},
	{what: "POST " + widgetsPath, body: widget("x", `{}`), as: protobufType, code: 415,
		reason: metav1.StatusReasonUnsupportedMediaType},
	{what: "POST " + configMaps, body: `{"metadata":{"name":"x"}}` + strings.Repeat(" ", 3<<20), code: 413,
		reason: metav1.StatusReasonRequestEntityTooLarge, text: "3145728"},
	{what: "POST " + widgetsPath, body: `{`, code: 400, reason: badRequestReason},
	{what: "POST " + widgetsPath, body: `null`, code: 400, reason: badRequestReason},
	{what: "POST " + widgetsPath, body: `{"metadata":{"name":"x"}}`, code: 400, reason: badRequestReason, text: "Kind"},
	{what: "POST " + configMaps + "?fieldValidation=Strict", body: `{"metadata":{"name":"x"},"dataa":{}}`, code: 400,
		reason: badRequestReason, text: `unknown field "dataa"`},
	{what: "POST " + configMaps + "?fieldValidation=Strict", body: `{"metadata":{"name":"x"},"data":{},"data":{}}`,
		code: 400, reason: badRequestReason, text: `duplicate field "data"`},
	{what: "POST " + configMaps + "?fieldValidation=Strict", body: "metadata: {name: x}\ndata: {}\ndata: {}",
		as: yamlType, code: 400, reason: badRequestReason, text: `"data" already set`},
	{what: "POST " + widgetsPath + "?fieldValidation=Strict", body: widget("x", `{"colour":"red"}`), code: 400,
		reason: badRequestReason, text: `unknown field "spec.colour"`},
	{what: "POST " + widgetsPath + "?fieldValidation=Strict", body: widget("x", `{"size":1,"size":2}`), code: 400,
		reason: badRequestReason, text: `duplicate field "spec.size"`},
	{what: "POST " + configMaps + "?fieldValidation=Sometimes", body: `{"metadata":{"name":"x"}}`, code: 422,
		reason: invalidReason, text: "fieldValidation"},
	{what: "POST " + configMaps + "?dryRun=Some", body: `{"metadata":{"name":"x"}}`, code: 422, reason: invalidReason,
		text: "dryRun"},
	{what: "POST " + configMaps + "?timeout=soon", body: `{"metadata":{"name":"x"}}`, code: 400,
		reason: badRequestReason, text: "timeout"},
}

// badObjects can be decoded, and are invalid.
var badObjects = []badRequest{
	{what: "POST " + configMaps, body: `{}`, code: 422, reason: invalidReason,
		text: "name or generateName is required"},
	{what: "POST " + configMaps, body: `{"metadata":{"name":"Not_A_Name"}}`, code: 422, reason: invalidReason,
		text: "RFC 1123 subdomain"},
	{what: "POST " + configMaps, body: `{"metadata":{"name":"` + strings.Repeat("a", 254) + `"}}`, code: 422,
		reason: invalidReason, text: "must be no more than 253 "},
	{what: "POST " + configMaps, body: `{"metadata":{"name":"a/b"}}`, code: 422, reason: invalidReason,
		text: "metadata.name"},
	{what: "POST " + configMaps, body: `{"metadata":{"name":".."}}`, code: 422, reason: invalidReason,
		text: "metadata.name"},
	{what: "POST " + configMaps, body: `{"metadata":{"generateName":"Not_"}}`, code: 422, reason: invalidReason,
		text: "metadata.generateName"},
	{what: "POST " + configMaps, body: `{"metadata":{"name":"x","labels":{"a b":"c"}}}`, code: 422,
		reason: invalidReason, text: "metadata.labels"},
	{what: "POST " + configMaps, body: `{"metadata":{"name":"x","labels":{"a":"b c"}}}`, code: 422,
		reason: invalidReason, text: "metadata.labels"},
	{what: "POST " + configMaps, body: `{"metadata":{"name":"x","annotations":{"a b":""}}}`, code: 422,
		reason: invalidReason, text: "metadata.annotations"},
	{what: "POST " + configMaps, body: `{"metadata":{"name":"x","annotations":{"a":"` + strings.Repeat("x",
		1<<18) + `"}}}`, code: 422, reason: invalidReason, text: "may not be more than 262144 bytes"},
	{what: "POST " + configMaps, body: `{"metadata":{"name":"x","finalizers":["a b"]}}`, code: 422,
		reason: invalidReason, text: "metadata.finalizers"},
	{what: "POST " + configMaps,
		body: `{"metadata":{"name":"x","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p"}]}}`, code: 422,
		reason: invalidReason, text: "uid"},
	{what: "POST " + configMaps, body: `{"metadata":{"name":"x","resourceVersion":"1"}}`, code: 500,
		text: "resourceVersion should not be set on objects to be created"},
	{what: "POST " + configMaps, body: `{"metadata":{"name":"x","namespace":"kube-system"}}`, code: 400,
		reason: badRequestReason, text: "does not match the namespace sent on the request"},
	{what: "POST " + configMaps, body: `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x"}}`, code: 400,
		reason: badRequestReason, text: "cannot be handled as a ConfigMap"},
	{what: "POST " + configMaps, body: `{"kind":"ConfigMap","apiVersion":"apps/v1","metadata":{"name":"x"}}`, code: 400,
		reason: badRequestReason},
	{what: "POST " + configMaps, body: `{"kind":"ConfigMapList","apiVersion":"v1","items":[]}`, code: 400,
		reason: badRequestReason},
	{what: "POST " + configMaps, body: `{"metadata":{"name":"a"}}`, code: 409, reason: metav1.StatusReasonAlreadyExists,
		text: `configmaps "a" already exists`},
	{what: "POST " + configMaps, body: `{"metadata":{"name":"x"},"data":{"a b":""}}`, code: 422, reason: invalidReason,
		text: "data[a b]"},
	{what: "POST /api/v1/namespaces/nowhere/configmaps", body: `{"metadata":{"name":"x"}}`, code: 404,
		reason: metav1.StatusReasonNotFound, text: `namespaces "nowhere" not found`},
	{what: "POST /api/v1/namespaces", body: `{"metadata":{"name":"a.b"}}`, code: 422, reason: invalidReason,
		text: "metadata.name"},
	{what: "POST /api/v1/namespaces", body: `{"metadata":{"name":"default"}}`, code: 409,
		reason: metav1.StatusReasonAlreadyExists},
	{what: "POST " + pods, body: `{"metadata":{"name":"x"}}`, code: 422, reason: invalidReason,
		text: "spec.containers: Required value"},
	{what: "POST " + pods, body: `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"C_","image":"i"}]}}`,
		code: 422, reason: invalidReason, text: "spec.containers[0].name"},
	{what: "POST " + pods, body: `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c"}]}}`, code: 422,
		reason: invalidReason, text: "spec.containers[0].image: Required value"},
	{what: "POST " + pods,
		body: `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"much"}}}]}}`, code: 400, reason: badRequestReason, text: "quantities must match the regular expression"},
	{what: "POST " + pods,
		body: `{"metadata":{"name":"x"},"spec":{"restartPolicy":"Perhaps","containers":[{"name":"c","image":"i"}]}}`,
		code: 422, reason: invalidReason, text: `Unsupported value: "Perhaps"`},
	{what: "POST " + deployments, body: `{"metadata":{"name":"x"},"spec":{"replicas":-1}}`, code: 422,
		reason: invalidReason, text: "spec.replicas"},
	{what: "POST " + deployments, body: strings.Replace(strings.Replace(plainDeployment, `"name":"a"`, `"name":"x"`, 1),
		`"app":"a"}},"template"`, `"app":"b"}},"template"`, 1), code: 422, reason: invalidReason,
		text: "`selector` does not match template `labels`"},
	{what: "POST /api/v1/namespaces/default/services",
		body: `{"metadata":{"name":"x"},"spec":{"ports":[{"port":70000}]}}`, code: 422, reason: invalidReason,
		text: "spec.ports[0].port"},
	{what: "POST /api/v1/namespaces/default/services",
		body: `{"metadata":{"name":"x"},"spec":{"clusterIP":"192.168.0.1","ports":[{"port":80}]}}`, code: 422,
		reason: invalidReason, text: "spec.clusterIPs"},
	{what: "POST /apis/coordination.k8s.io/v1/namespaces/default/leases",
		body: `{"metadata":{"name":"x"},"spec":{"leaseDurationSeconds":0}}`, code: 422, reason: invalidReason,
		text: "spec.leaseDurationSeconds"},
	{what: "POST /api/v1/namespaces/default/events",
		body: `{"metadata":{"name":"x"},"involvedObject":{"namespace":"kube-system"}}`, code: 422,
		reason: invalidReason, text: "does not match event.namespace"},
	{what: "POST " + widgetsPath, body: widget("x", `{"color":"green"}`), code: 422, reason: invalidReason,
		text: `spec.color: Unsupported value: "green"`},
	{what: "POST " + widgetsPath, body: widget("x", `{"size":10}`), code: 422, reason: invalidReason,
		text: "spec.size"},
	{what: "POST " + widgetsPath, body: widget("x", `{"size":"big"}`), code: 422, reason: invalidReason,
		text: "must be of type integer"},
	{what: "POST " + widgetsPath, body: widget("x", `7`), code: 422, reason: invalidReason,
		text: "must be of type object"},
	{what: "POST " + widgetsPath, body: widget("A", `{}`), code: 422, reason: invalidReason, text: "metadata.name"},
	{what: "POST " + widgetsPath, body: `{"apiVersion":"example.com/v2","kind":"Widget","metadata":{"name":"x"}}`,
		code: 400, reason: badRequestReason, text: "example.com/v2"},
	{what: "POST " + widgetsPath, body: `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"x"}}`,
		code: 422, reason: invalidReason, text: "must be Widget"},

	{what: "PUT " + configMaps + "/a", body: `{"metadata":{"name":"b"}}`, code: 400, reason: badRequestReason,
		text: "does not match the name on the URL"},
	{what: "PUT " + configMaps + "/a", body: `{"metadata":{}}`, code: 400, reason: badRequestReason,
		text: "name must be provided"},
	{what: "PUT " + configMaps + "/a", body: `{"metadata":{"name":"a","uid":"other"}}`, code: 409,
		reason: metav1.StatusReasonConflict, text: "UID"},
	{what: "PUT " + configMaps + "/a", body: `{"metadata":{"name":"a","resourceVersion":"1"}}`, code: 409,
		reason: metav1.StatusReasonConflict, text: "the object has been modified"},
	{what: "PUT " + configMaps + "/a", body: `{"metadata":{"name":"a","resourceVersion":"x"}}`, code: 422,
		reason: invalidReason, text: "metadata.resourceVersion"},
	{what: "PUT " + configMaps + "/nobody", body: `{"metadata":{"name":"nobody"}}`, code: 404,
		reason: metav1.StatusReasonNotFound, text: `configmaps "nobody" not found`},
	{what: "PUT " + deployments + "/a", body: strings.ReplaceAll(plainDeployment, `"app":"a"`, `"app":"b"`), code: 422,
		reason: invalidReason, text: "field is immutable"},
	{what: "PUT " + widgetsPath + "/a", body: widget("a", `{}`), code: 422, reason: invalidReason,
		text: "metadata.resourceVersion: Invalid value: 0: must be specified for an update"},
	{what: "PUT " + widgetsPath + "/a/status", body: widget("a", `{}`), code: 422, reason: invalidReason,
		text: "must be specified for an update"},
}

// badPatches are not patches, do not apply, or make an invalid object.
var badPatches = []badRequest{
	{what: "PATCH " + configMaps + "/a", as: mergeType, body: `{`, code: 400, reason: badRequestReason},
	{what: "PATCH " + configMaps + "/a", as: mergeType, body: `{"data":7}`, code: 422, reason: invalidReason,
		text: "patch"},
	{what: "PATCH " + configMaps + "/a", as: mergeType, body: `{"metadata":{"name":"b"}}`, code: 400,
		reason: badRequestReason, text: "does not match the name on the URL"},
	{what: "PATCH " + configMaps + "/a", as: mergeType, body: `{"metadata":{"resourceVersion":"1"}}`, code: 409,
		reason: metav1.StatusReasonConflict, text: "the object has been modified"},
	{what: "PATCH " + configMaps + "/a", as: mergeType, body: `{"metadata":{"labels":{"a b":"c"}}}`, code: 422,
		reason: invalidReason, text: "metadata.labels"},
	{what: "PATCH " + configMaps + "/nobody", as: mergeType, body: `{}`, code: 404,
		reason: metav1.StatusReasonNotFound},
	{what: "PATCH " + configMaps + "/a?fieldValidation=Strict", as: mergeType, body: `{"dataa":{}}`, code: 422,
		reason: invalidReason, text: `unknown field "dataa"`},
	{what: "PATCH " + configMaps + "/a?force=true", as: mergeType, body: `{}`, code: 422, reason: invalidReason,
		text: "force"},
	{what: "PATCH " + configMaps + "/a", as: "text/plain", body: `{}`, code: 415,
		reason: metav1.StatusReasonUnsupportedMediaType},
	{what: "PATCH " + configMaps + "/a", as: jsonPatchType, body: `{}`, code: 400, reason: badRequestReason},
	{what: "PATCH " + configMaps + "/a", as: jsonPatchType, body: `[{"op":"test","path":"/metadata/name","value":"b"}]`,
		code: 422, reason: invalidReason},
	{what: "PATCH " + configMaps + "/a", as: jsonPatchType, body: `[{"op":"remove","path":"/nothing"}]`, code: 422,
		reason: invalidReason},
	{what: "PATCH " + configMaps + "/a", as: jsonPatchType,
		body: `[` + strings.Repeat(`{"op":"test","path":"/kind","value":"ConfigMap"},`,
			10000) + `{"op":"test","path":"/kind","value":"ConfigMap"}]`, code: 413,
		reason: metav1.StatusReasonRequestEntityTooLarge, text: "10000"},
	{what: "PATCH " + configMaps + "/a", as: strategicType, body: `[]`, code: 400, reason: badRequestReason},
	{what: "PATCH " + deployments + "/a", as: strategicType,
		body: `{"spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}}`, code: 500, text: "merge key: name"},
	{what: "PATCH " + deployments + "/a", as: strategicType,
		body: `{"spec":{"template":{"spec":{"containers":[{"name":"d"}]}}}}`, code: 422, reason: invalidReason,
		text: "image: Required value"},
	{what: "PATCH " + widgetsPath + "/a", as: strategicType, body: `{}`, code: 415,
		reason: metav1.StatusReasonUnsupportedMediaType, text: mergeType},
	{what: "PATCH " + widgetsPath + "/a", as: mergeType, body: `{"spec":{"size":99}}`, code: 422, reason: invalidReason,
		text: "spec.size"},
	{what: "PATCH " + widgetsPath + "/a/scale", as: mergeType, body: `{"spec":{"replicas":-1}}`, code: 422,
		reason: invalidReason, text: "spec.size"},
}

// badURLs do not exist, or do not support the method.
var badURLs = []badRequest{
	{what: "GET /api/v1/nothings", code: 404, reason: metav1.StatusReasonNotFound,
		text: "could not find the requested resource"},
	{what: "GET /api/v1/namespaces/default/nothings/a", code: 404, reason: metav1.StatusReasonNotFound},
	{what: "GET /api/v2/pods", code: 404, reason: metav1.StatusReasonNotFound},
	{what: "GET /apis/apps/v9/deployments", code: 404, reason: metav1.StatusReasonNotFound},
	{what: "GET /apis/example.com/v9/widgets", code: 404, reason: metav1.StatusReasonNotFound},
	{what: "GET " + configMaps + "/nobody", code: 404, reason: metav1.StatusReasonNotFound,
		text: `configmaps "nobody" not found`},
	{what: "GET " + configMaps + "/a/status", code: 404, reason: metav1.StatusReasonNotFound},
	{what: "GET " + widgetsPath + "/nobody", code: 404, reason: metav1.StatusReasonNotFound,
		text: `widgets.example.com "nobody" not found`},
	{what: "PUT " + configMaps, body: `{}`, code: 405, reason: metav1.StatusReasonMethodNotAllowed},
	{what: "POST " + configMaps + "/a", body: `{}`, code: 405, reason: metav1.StatusReasonMethodNotAllowed},
	{what: "POST /api/v1/configmaps", body: `{"metadata":{"name":"x"}}`, code: 405,
		reason: metav1.StatusReasonMethodNotAllowed},
	{what: "DELETE /api/v1/namespaces", code: 405, reason: metav1.StatusReasonMethodNotAllowed},
	{what: "BREW " + configMaps, code: 405, reason: metav1.StatusReasonMethodNotAllowed},
	{what: "GET " + configMaps, header: "Accept: application/xml", code: 406, reason: metav1.StatusReasonNotAcceptable},
	{what: "GET " + configMaps, header: "Accept: application/json;as=Table;v=v9;g=meta.k8s.io", code: 406,
		reason: metav1.StatusReasonNotAcceptable},
	{what: "GET " + widgetsPath, header: "Accept: text/html;as=Table;v=v1;g=meta.k8s.io", code: 406,
		reason: metav1.StatusReasonNotAcceptable},
	{what: "GET " + configMaps, header: "Impersonate-User: jane", code: 403, reason: metav1.StatusReasonForbidden,
		text: "Impersonate-User"},
	{what: "GET " + configMaps, header: "Impersonate-Extra-Scopes: all", code: 403,
		reason: metav1.StatusReasonForbidden, text: "Impersonate-Extra-Scopes"},
}

// badLists have invalid selectors or revisions.
var badLists = []badRequest{
	{what: "GET " + configMaps + "?resourceVersion=x", code: 400, reason: badRequestReason,
		text: "invalid resource version"},
	{what: "GET " + configMaps + "?resourceVersion=-1", code: 400, reason: badRequestReason,
		text: "invalid resource version"},
	{what: "GET " + configMaps + "?watch=true&resourceVersion=-1", code: 500, text: "resourceVersion: Invalid value"},
	{what: "GET " + configMaps + "?resourceVersion=9999999999999999&timeout=10ms", code: 504,
		reason: metav1.StatusReasonTimeout, text: "Too large resource version"},
	{what: "GET " + configMaps + "?resourceVersion=1&resourceVersionMatch=Exact", code: 410,
		reason: metav1.StatusReasonExpired},
	{what: "GET " + configMaps + "?resourceVersionMatch=Exact", code: 422, reason: invalidReason,
		text: "resourceVersionMatch"},
	{what: "GET " + configMaps + "?resourceVersion=1&resourceVersionMatch=Roughly", code: 422, reason: invalidReason,
		text: "resourceVersionMatch"},
	{what: "GET " + configMaps + "?resourceVersion=0&resourceVersionMatch=Exact", code: 422, reason: invalidReason,
		text: "resourceVersionMatch"},
	{what: "GET " + configMaps + "?watch=true&resourceVersion=1&resourceVersionMatch=NotOlderThan", code: 422,
		reason: invalidReason, text: "resourceVersionMatch"},
	{what: "GET " + configMaps + "?sendInitialEvents=true", code: 422, reason: invalidReason,
		text: "sendInitialEvents"},
	{what: "GET " + configMaps + "?watch=true&sendInitialEvents=true", code: 422, reason: invalidReason,
		text: "resourceVersionMatch"},
	{what: "GET " + configMaps + "?continue=rubbish", code: 400, reason: badRequestReason, text: "continue"},
	{what: "GET " + configMaps + "?continue=%21%21", code: 400, reason: badRequestReason, text: "continue"},
	{what: "GET " + configMaps + "?continue=e30", code: 400, reason: badRequestReason, text: "continue"},
	{what: "GET " + configMaps + "?limit=many", code: 400, reason: badRequestReason},
	{what: "GET " + configMaps + "?labelSelector=a,,=b", code: 400, reason: badRequestReason},
	{what: "GET " + configMaps + "?labelSelector=a+in+b", code: 400, reason: badRequestReason},
	{what: "GET " + configMaps + "?labelSelector=-a-", code: 400, reason: badRequestReason},
	{what: "GET " + configMaps + "?fieldSelector=metadata.name", code: 400, reason: badRequestReason,
		text: "invalid selector"},
	{what: "GET " + configMaps + "?fieldSelector=data.a%3Db", code: 400, reason: badRequestReason, text: "data.a"},
	{what: "GET " + pods + "?fieldSelector=spec.colour%3Dred", code: 400, reason: badRequestReason,
		text: "field label not supported: spec.colour"},
	{what: "GET " + widgetsPath + "?fieldSelector=spec.size%3D1", code: 400, reason: badRequestReason,
		text: "spec.size"},
	{what: "GET " + configMaps + "?watch=true&fieldSelector=data.a%3Db", code: 400, reason: badRequestReason,
		text: "data.a"},
}

// badDeletes are of objects that do not exist, or do not meet the preconditions.
var badDeletes = []badRequest{
	{what: "DELETE " + configMaps + "/nobody", code: 404, reason: metav1.StatusReasonNotFound,
		text: `configmaps "nobody" not found`},
	{what: "DELETE " + configMaps + "/a", body: `{"preconditions":{"uid":"other"}}`, code: 409,
		reason: metav1.StatusReasonConflict, text: "UID"},
	{what: "DELETE " + configMaps + "/a", body: `{"preconditions":{"resourceVersion":"1"}}`, code: 409,
		reason: metav1.StatusReasonConflict, text: "ResourceVersion"},
	{what: "DELETE " + configMaps + "/a", body: `{`, code: 400, reason: badRequestReason},
	{what: "DELETE " + configMaps + "/a", body: `{"propagationPolicy":"Sideways"}`, code: 422, reason: invalidReason,
		text: "propagationPolicy"},
	{what: "DELETE " + configMaps + "/a", body: `{"orphanDependents":true,"propagationPolicy":"Orphan"}`, code: 422,
		reason: invalidReason, text: "orphanDependents and deletionPropagation cannot be both set"},
	{what: "DELETE " + configMaps + "/a?dryRun=Some", code: 422, reason: invalidReason, text: "dryRun"},
	{what: "DELETE " + configMaps + "?labelSelector=a,,=b", code: 400, reason: badRequestReason},
	{what: "DELETE " + configMaps + "?fieldSelector=data.a%3Db", code: 400, reason: badRequestReason, text: "data.a"},
	{what: "DELETE /api/v1/namespaces/default", code: 403, reason: metav1.StatusReasonForbidden,
		text: "this namespace may not be deleted"},
}

// definition is a CustomResourceDefinition in JSON with additional fields in its version v1.
func definition(name, group, names, more string) string {
	return `{"metadata":{"name":"` + name + `"},"spec":{"group":"` + group + `","scope":"Namespaced","names":` + names +
		`,"versions":[{"name":"v1","served":true,"storage":true` + more + `}]}}`
}

const (
	gadgetNames = `{"plural":"gadgets","kind":"Gadget"}`
	anySchema   = `,"schema":{"openAPIV3Schema":{"type":"object"}}`
)

// badDefinitions have a schema that is not structural, or names that do not match.
var badDefinitions = []badRequest{
	{what: "POST " + definitionsPath, body: `{"metadata":{"name":"x"}}`, code: 422, reason: invalidReason,
		text: "spec.group: Required value"},
	{what: "POST " + definitionsPath, body: definition("gadgets.example.com", "example.com", gadgetNames, ""),
		code: 422, reason: invalidReason, text: "spec"},
	{what: "POST " + definitionsPath, body: definition("wrong.example.com", "example.com", gadgetNames, anySchema),
		code: 422, reason: invalidReason, text: "must be spec.names.plural+"},
	{what: "POST " + definitionsPath, body: definition("gadgets.Example", "Example", gadgetNames, anySchema), code: 422,
		reason: invalidReason, text: "spec.group"},
	{what: "POST " + definitionsPath, body: definition("gadgets.example.com", "example.com",
		`{"plural":"gadgets","kind":"gadget!"}`, anySchema), code: 422, reason: invalidReason, text: "spec.names.kind"},
	{what: "POST " + definitionsPath, body: definition("gadgets.example.com", "example.com", gadgetNames,
		`,"schema":{"openAPIV3Schema":{"properties":{"spec":{}}}}`), code: 422, reason: invalidReason,
		text: "type: Required value"},
	{what: "POST " + definitionsPath, body: definition("gadgets.example.com", "example.com", gadgetNames,
		`,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"thing"}}}}`), code: 422,
		reason: invalidReason, text: "thing"},
	{what: "POST " + definitionsPath, body: definition("gadgets.example.com", "example.com", gadgetNames,
		`,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}}`),
		code: 422, reason: invalidReason, text: "pattern"},
	{what: "POST " + definitionsPath, body: definition("gadgets.example.com", "example.com", gadgetNames,
		`,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"integer","default":"x"}}}}`),
		code: 422, reason: invalidReason, text: "default"},
	{what: "POST " + definitionsPath, body: definition("gadgets.toys.k8s.io", "toys.k8s.io", gadgetNames, anySchema),
		code: 422, reason: invalidReason, text: "api-approved.kubernetes.io"},
	{what: "POST " + definitionsPath, body: definition("gadgets.example.com", "example.com", gadgetNames,
		anySchema+`},{"name":"v1","served":true,"storage":false`+anySchema), code: 422, reason: invalidReason,
		text: "version name"},
	{what: "POST " + definitionsPath, body: definition("gadgets.example.com", "example.com", gadgetNames,
		anySchema+`},{"name":"v2","served":true,"storage":true`+anySchema), code: 422, reason: invalidReason,
		text: "storage"},
	{what: "POST " + definitionsPath, body: definition("gadgets.example.com", "example.com", gadgetNames,
		anySchema+`,"additionalPrinterColumns":[{"name":"C","type":"colour","jsonPath":".spec"}]`), code: 422,
		reason: invalidReason, text: "additionalPrinterColumns[0].type"},
	{what: "POST " + definitionsPath, body: definition("widgets.example.com", "example.com",
		`{"plural":"widgets","kind":"Widget"}`, anySchema), code: 409, reason: metav1.StatusReasonAlreadyExists},
	{what: "PATCH " + definitionsPath + "/widgets.example.com", as: mergeType, body: `{"spec":{"scope":"Cluster"}}`,
		code: 422, reason: invalidReason, text: "spec.scope"},
	{what: "PATCH " + definitionsPath + "/widgets.example.com", as: mergeType, body: `{"spec":{"versions":[]}}`,
		code: 422, reason: invalidReason, text: "spec.versions"},
}
