package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A write may remove the first initializer, or all; others are rejected and change nothing.
func TestRemoveInitializers(t *testing.T) {
	t.Parallel()
	const first, second, third = `{"name":"first.example.com"}`, `{"name":"second.example.com"}`,
		`{"name":"third.example.com"}`
	for _, c := range []struct{ rule, initializers, left, refusal string }{
		{rule: "none", initializers: `{"pending":[` + first + `,` + second + `]}`,
			left: "first.example.com second.example.com"},
		{rule: "the first", initializers: `{"pending":[` + second + `]}`, left: "second.example.com"},
		{rule: "all by null", initializers: `null`},
		{rule: "all, and not by null", initializers: `{"pending":[]}`,
			refusal: "only the first pending initializer may be removed"},
		{rule: "all by emptying the field", initializers: `{"pending":null}`,
			refusal: "or all of them with initializers set to null"},
		{rule: "the second", initializers: `{"pending":[` + first + `]}`,
			refusal: "only the first pending initializer may be removed"},
		{rule: "one that is added", initializers: `{"pending":[` + first + `,` + second + `,` + third + `]}`,
			refusal: "only the first pending"},
		{rule: "one that is put in its place", initializers: `{"pending":[` + third + `]}`,
			refusal: "pending are first.example.com, second.example.com"},
		{rule: "another order", initializers: `{"pending":[` + second + `,` + first + `]}`,
			refusal: "only the first pending"},
		{rule: "a result that is no failure", initializers: `{"result":{"status":"Success"}}`,
			refusal: "must be 'Failure'"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			configureInitializers(t, w, "a", "configmaps", "first.example.com", "second.example.com")
			w.send(t, http.MethodPost, configMaps+hidden, `{"metadata":{"name":"a"}}`).want(t, http.StatusCreated)
			r := w.merge(t, configMaps+"/a", `{"data":{"k":"v"},"metadata":{"initializers":`+c.initializers+`}}`)
			if c.refusal != "" {
				r.wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, c.refusal)
				c.left = "first.example.com second.example.com"
			} else {
				r.want(t, 200)
			}
			obj := w.get(t, configMaps+"/a").object(t)
			if got := pending(obj); got != c.left || (valueAt(obj, "data", "k") == "v") != (c.refusal == "") {
				t.Errorf("the pending initializers are %q in %v, want %q", got, obj, c.left)
			}
		})
	}
}

// An initialized object cannot become uninitialized again.
func TestInitializersCannotBeAddedLater(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	configureInitializers(t, w, "a", "configmaps", "first.example.com")
	w.merge(t, configMaps+"/a", `{"metadata":{"initializers":{"pending":[{"name":"first.example.com"}]}}}`).
		wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			"field is immutable once initialization has completed")
	w.merge(t, configMaps+"/a", `{"metadata":{"initializers":null},"data":{"k":"v"}}`).want(t, 200)
	w.merge(t, configMaps+"/a", `{"metadata":{"initializers":{"pending":[]}},"data":{"k":"w"}}`).want(t, 200)
}

// A failed initializer deletes the object, regardless of finalizers, and its creator receives the reason.
func TestInitializerFailureDeletesObject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		configureInitializers(t, w, "a", "configmaps", "first.example.com", "second.example.com")
		seen, all := w.open(t, configMaps+"?watch=1"), w.open(t, configMaps+hidden+"&watch=1")
		for _, c := range []struct {
			result string
			code   int
			reason metav1.StatusReason
		}{
			{`{"status":"Failure","message":"no room","reason":"Forbidden","code":403}`, 403,
				metav1.StatusReasonForbidden},
			{`{"status":"Failure","message":"no room"}`, 500, ""},
			{`{"status":"Failure","message":"no room","code":99999}`, 500, ""},
		} {
			answer := w.begin(t, http.MethodPost, configMaps,
				`{"metadata":{"name":"a","finalizers":["example.com/never"]}}`)
			synctest.Wait()
			w.merge(t, configMaps+"/a", `{"metadata":{"initializers":{"result":`+c.result+`}}}`).want(t, 200)
			r := (<-answer).want(t, c.code)
			var status metav1.Status
			if r.into(t, &status); status.Reason != c.reason || status.Message != "no room" {
				t.Errorf("answered %s", r.body)
			}
			w.get(t, configMaps+"/a").want(t, http.StatusNotFound)
			if deleted := all.want(t, "ADDED a", "DELETED a").Object; valueAt(deleted, "metadata", "initializers",
				"result",
				"message") != "no room" {
				t.Errorf("deleted is %v", deleted)
			}
		}
		w.send(t, http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"other"}}`).want(t, http.StatusCreated)
		w.send(t, http.MethodDelete, initializersPath+"/a", "").want(t, 200)
		w.createConfigMaps(t, "default", "b")
		seen.want(t, "ADDED b") // and nothing of the others before
	})
}

// Each type of patch can finish initialization, with a change that is immutable in a later update.
func TestPatchTypesFinishInitialization(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ contentType, patch string }{
		"merge": {mergeType,
			`{"metadata":{"initializers":null},"spec":{"containers":[{"name":"c","image":"i"},{"name":"proxy","image":"p"}]}}`},
		"JSON": {jsonPatchType,
			`[{"op":"remove","path":"/metadata/initializers"},{"op":"add","path":"/spec/containers/-","value":{"name":"proxy","image":"p"}}]`},
		"JSON, a name": {jsonPatchType,
			`[{"op":"test","path":"/metadata/initializers/pending/0/name","value":"first.example.com"},{"op":"remove","path":"/metadata/initializers/pending/0"},{"op":"add","path":"/spec/containers/-","value":{"name":"proxy","image":"p"}}]`},
		"strategic": {strategicType,
			`{"metadata":{"initializers":null},"spec":{"containers":[{"name":"proxy","image":"p"}]}}`},
		"strategic name": {strategicType,
			`{"metadata":{"initializers":{"pending":[{"$patch":"delete","name":"first.example.com"}]}},"spec":{"containers":[{"name":"proxy","image":"p"}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			configureInitializers(t, w, "a", "pods", "first.example.com")
			body := `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`
			w.send(t, http.MethodPost, podsPath+hidden, body).want(t, http.StatusCreated)
			w.send(t, http.MethodPatch, podsPath+"/a", c.patch, "Content-Type", c.contentType).want(t, 200)
			pods := must(w.clients.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}))(t)
			if len(pods.Items) != 1 || len(pods.Items[0].Spec.Containers) != 2 {
				t.Fatalf("got %v", pods.Items)
			}
			w.merge(t, podsPath+"/a", `{"spec":{"containers":[{"name":"c","image":"i"}]}}`).
				wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
					"pod updates may not add or remove containers")
		})
	}
}

// Updates of uninitialized objects are validated as creates.
func TestUpdateOfUninitializedObjectIsValidatedAsCreate(t *testing.T) {
	t.Parallel()
	w := start(t)
	configureInitializers(t, w, "a", "pods", "first.example.com")
	w.send(t, http.MethodPost, podsPath+hidden,
		`{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}`).want(t, http.StatusCreated)
	w.merge(t, podsPath+"/a", `{"spec":{"containers":[{"name":"C!","image":"i"}]}}`).
		wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec.containers[0].name")
	w.merge(t, podsPath+"/a", `{"metadata":{"initializers":null},"spec":{"containers":[]}}`).
		wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec.containers: Required value")
	if got := w.names(t, podsPath); got != "" {
		t.Errorf("rejected updates made the object visible: %q", got)
	}
}

// Creators may name initializers, or an empty list, within their permissions.
func TestCreateWithInitializers(t *testing.T) {
	t.Parallel()
	w := start(t)
	configureInitializers(t, w, "a", "configmaps", "first.example.com")
	for initializers, want := range map[string]string{
		`null`: "first.example.com", `{}`: "", `{"pending":[]}`: "",
		`{"pending":[{"name":"mine.example.com"}]}`: "mine.example.com",
	} {
		obj := w.send(t, http.MethodPost, configMaps+hidden,
			`{"metadata":{"generateName":"a","initializers":`+initializers+`}}`).want(t, 201).object(t)
		if got := pending(obj); got != want || want == "" && valueAt(obj, "metadata", "initializers") != nil {
			t.Errorf("%s: %v", initializers, obj)
		}
	}
	for initializers, refusal := range map[string]string{
		`{"pending":[{"name":"mine"}]}`:                                         "should be a domain with at least three segments separated by dots",
		`{"pending":[{"name":""}]}`:                                             "metadata.initializers.pending[0].name: Required value",
		`{"pending":[{"name":"mine.example.com"},{"name":"mine.example.com"}]}`: `metadata.initializers.pending[1].name: Duplicate value: "mine.example.com"`,
		`{"result":{"status":"Failure"}}`:                                       "metadata.initializers.result: Forbidden",
		`{"pending":[` + strings.Repeat(`{"name":"x"},`,
			1000) + `{}]}`: "metadata.initializers.pending: Too many: 1001: must have at most 1000 items",
	} {
		w.send(t, http.MethodPost, configMaps+hidden, `{"metadata":{"name":"b","initializers":`+initializers+`}}`).
			wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, refusal)
	}
	for _, initializers := range []string{`"x"`, `{"pending":{}}`, `[1]`} {
		w.send(t, http.MethodPost, configMaps+hidden, `{"metadata":{"name":"b","initializers":`+initializers+`}}`).
			wantError(t, http.StatusBadRequest, metav1.StatusReasonBadRequest, "cannot unmarshal")
	}
}

// Configurations of initializers are stored and validated, and have no initializers themselves.
func TestInitializerConfigurations(t *testing.T) {
	t.Parallel()
	w := start(t)
	configureInitializers(t, w, "all", "*", "first.example.com")
	const document = `
apiVersion: admissionregistration.k8s.io/v1alpha1
kind: InitializerConfiguration
metadata: {name: envoy-config}
initializers:
- name: envoy.initializer.kubernetes.io
  rules:
  - {apiGroups: [""], apiVersions: [v1], resources: [pods]}
`
	made := w.create(t, initializersPath, document)
	if fmt.Sprint(made["initializers"]) != "[map[name:envoy.initializer.kubernetes.io rules:[map[apiGroups:[] apiVersions:[v1] resources:[pods]]]]]" {
		t.Errorf("made %v", made)
	}
	body := w.get(t, initializersPath+"/envoy-config", "Accept", protobufType).want(t, 200).body
	same := w.send(t, http.MethodPut, initializersPath+"/envoy-config", string(body), "Content-Type",
		protobufType).want(t, 200).object(t)
	if valueAt(same, "metadata", "resourceVersion") != valueAt(made, "metadata", "resourceVersion") {
		t.Errorf("an update with the same object in protobuf changed it to %v", same)
	}
	for _, c := range []struct{ initializers, refusal string }{
		{`[{"name":"envoy"}]`,
			"initializers[0].name: Invalid value: \"envoy\": should be a domain with at least three segments separated by dots"},
		{`[{"name":"a.b.c","rules":[{}]}]`, "initializers[0].rules[0].apiGroups: Required value"},
		{`[{"name":"a.b.c","rules":[{"apiGroups":["*","x"],"apiVersions":["v1",""],"resources":["pods/status"]}]}]`,
			"if '*' is present, must not specify other API groups"},
		{`[{"name":"a.b.c","rules":[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods/status"]}]}]`,
			"must not specify subresources"},
		{`[{"name":"a.b.c","rules":[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods","*"]}]}]`,
			"if '*' is present, must not specify other resources"},
	} {
		w.send(t, http.MethodPost, initializersPath, `{"metadata":{"name":"x"},"initializers":`+c.initializers+`}`).
			wantError(t, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, c.refusal)
	}
	list := strings.Fields(w.names(t, initializersPath))
	if !slices.Equal(list, []string{"all", "envoy-config"}) {
		t.Errorf("there are %v", list)
	}
}
