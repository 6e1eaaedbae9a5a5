package server_test

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A dry run of any verb has the answer of the real request and changes neither state nor revision, nor does
// it claim an address.
func TestDryRunWritesNothing(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.createConfigMaps(t, "default", "a")
	w.create(t, configMaps, `{"metadata":{"name":"held","finalizers":["example.com/hold"]}}`)
	w.create(t, widgetsPath, widget("a", `{"size":1}`))
	deployments := "/apis/apps/v1/namespaces/default/deployments"
	w.create(t, deployments, deploymentBody("a"))
	services := "/api/v1/namespaces/default/services"
	everything := []string{configMaps, widgetsPath, deployments, services, "/api/v1/namespaces",
		"/api/v1/namespaces/default/pods", definitionsPath}
	before := w.state(t, everything...)
	options := `{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}`
	for _, c := range []struct {
		method, path, contentType, body string
		code                            int
	}{
		{http.MethodPost, configMaps, jsonType, `{"metadata":{"name":"new"}}`, http.StatusCreated},
		{http.MethodPost, configMaps, jsonType, `{"metadata":{"generateName":"new-"}}`, http.StatusCreated},
		{http.MethodPost, configMaps, jsonType, `{"metadata":{"name":"a"}}`, http.StatusConflict},
		{http.MethodPost, configMaps, jsonType, `{"metadata":{"name":"UPPER"}}`, http.StatusUnprocessableEntity},
		{http.MethodPost, widgetsPath, jsonType, widget("new", `{}`), http.StatusCreated},
		{http.MethodPost, services, jsonType,
			`{"metadata":{"name":"new"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`, http.StatusCreated},
		{http.MethodPost, definitionsPath, jsonType,
			`{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"kind":"Gadget","plural":"gadgets"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, http.StatusCreated},
		{http.MethodPut, configMaps + "/a", jsonType, `{"metadata":{"name":"a"},"data":{"k":"1"}}`, http.StatusOK},
		{http.MethodPut, widgetsPath + "/a", jsonType, widget("a", `{"size":2}`), http.StatusUnprocessableEntity},
		{http.MethodPatch, configMaps + "/a", mergeType, `{"data":{"k":"1"}}`, http.StatusOK},
		{http.MethodPatch, widgetsPath + "/a", mergeType, `{"spec":{"size":5}}`, http.StatusOK},
		{http.MethodPatch, widgetsPath + "/a/status", mergeType, `{"status":{"size":5}}`, http.StatusOK},
		{http.MethodPatch, deployments + "/a/scale", mergeType, `{"spec":{"replicas":7}}`, http.StatusOK},
		{http.MethodPatch, configMaps + "/held", mergeType, `{"metadata":{"finalizers":null}}`, http.StatusOK},
		{http.MethodDelete, configMaps + "/a", jsonType, "", http.StatusOK},
		{http.MethodDelete, configMaps + "/held", jsonType, "", http.StatusOK},
		{http.MethodDelete, widgetsPath + "/a", jsonType, "", http.StatusOK},
		{http.MethodDelete, "/api/v1/namespaces/default", jsonType, "", http.StatusForbidden},
		{http.MethodDelete, "/api/v1/namespaces/kube-public", jsonType, "", http.StatusForbidden},
		{http.MethodDelete, definitionsPath + "/widgets.example.com", jsonType, "", http.StatusOK},
		{http.MethodDelete, configMaps, jsonType, "", http.StatusOK},
	} {
		r := w.send(t, c.method, c.path+"?dryRun=All", c.body, "Content-Type", c.contentType)
		if r.code != c.code {
			t.Errorf("%s %s %s: %d, want %d: %s", c.method, c.path, c.body, r.code, c.code, r.body)
		}
		if c.method == http.MethodDelete {
			w.send(t, c.method, c.path, options)
		}
		if after := w.state(t, everything...); after != before {
			t.Fatalf("%s %s %s changed the state from\n%s\nto\n%s", c.method, c.path, c.body, before, after)
		}
	}
	w.send(t, http.MethodPost, configMaps+"?dryRun=Some", `{"metadata":{"name":"new"}}`).wantError(t,
		http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "dryRun")
	w.get(t, "/apis/example.com/v1/namespaces/default/gadgets").want(t, http.StatusNotFound)
	w.create(t, widgetsPath, widget("b", `{}`)) // the definition is not ending
}

// The answer of a dry run equals that of the write, except for what only a commit sets.
func TestDryRunResponseMatchesWrite(t *testing.T) {
	t.Parallel()
	w := start(t)
	created := w.send(t, http.MethodPost, configMaps+"?dryRun=All",
		`{"metadata":{"name":"a"},"data":{"k":"1"}}`).want(t, http.StatusCreated).object(t)
	if valueAt(created, "data", "k") != "1" || valueAt(created, "metadata", "uid") == nil ||
		valueAt(created, "metadata", "resourceVersion") != nil {
		t.Errorf("the create answers %v", created)
	}
	w.createConfigMaps(t, "default", "a")
	revision := valueAt(w.get(t, configMaps+"/a").object(t), "metadata", "resourceVersion")
	patched := w.send(t, http.MethodPatch, configMaps+"/a?dryRun=All", `{"data":{"k":"2"}}`, "Content-Type",
		mergeType).want(t, http.StatusOK).object(t)
	if valueAt(patched, "data", "k") != "2" || valueAt(patched, "metadata", "resourceVersion") != revision {
		t.Errorf("the patch answers %v", patched)
	}
	w.send(t, http.MethodPut, configMaps+"/a?dryRun=All",
		`{"metadata":{"name":"a","resourceVersion":"1"}}`).wantError(t,
		http.StatusConflict, metav1.StatusReasonConflict, "")
}
