package server_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The form of an answer follows the rules of k8s.io/apiserver/pkg/endpoints/handlers/negotiation, behind a
// router whose only wildcard for built-in kinds is */*. A code in the table stands for a rejection.
func TestAcceptHeaders(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.createConfigMaps(t, "default", "a")
	w.create(t, widgetsPath, widget("a", `{}`))
	const table, refused = jsonType + " Table", "406"
	for _, c := range []struct{ accept, typed, custom string }{
		{"", jsonType, jsonType},
		{"*/*", jsonType, jsonType},
		{"application/*", refused, jsonType},
		{"application/json", jsonType, jsonType},
		{"application/json; charset=utf-8", jsonType, jsonType},
		{"APPLICATION/JSON", refused, refused},
		{"application/yaml", yamlType, yamlType},
		{"application/vnd.kubernetes.protobuf", protobufType, refused},
		{"application/vnd.kubernetes.protobuf,application/json", protobufType, jsonType},
		{"application/json,application/vnd.kubernetes.protobuf", jsonType, jsonType},
		{"application/json;q=0.5,application/yaml;q=0.9", yamlType, yamlType},
		{"application/yaml;q=0.1,*/*;q=0.5", jsonType, jsonType},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", jsonType, jsonType},
		{"text/html", refused, refused},
		{"application/cbor", refused, refused},
		{"application/cbor,application/json;q=0.1", jsonType, jsonType},
		{",,;;,application/json,", jsonType, jsonType},
		{"application/json;as=Table;v=v1;g=meta.k8s.io", table, table},
		{"application/json;as=Table;v=v1beta1;g=meta.k8s.io", table, table},
		{"application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", table, table},
		{"application/yaml;as=Table;v=v1;g=meta.k8s.io", yamlType + " Table", yamlType + " Table"},
		{"application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", refused, refused},
		{"application/json;as=Table;v=v2;g=meta.k8s.io,application/json", jsonType, jsonType},
		{"application/json;as=Table;v=v1;g=example.com", refused, refused},
		{"application/json;as=Table", refused, refused},
		{"application/json;v=v1;g=meta.k8s.io", refused, refused},
		{"application/json;sv=v1", refused, refused},
		{"application/json;stream=watch", jsonType, jsonType},
		{"application/json;stream=other", refused, refused},
		{"application/json;something=else", jsonType, jsonType},
		{"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", protobufType, protobufType},
	} {
		for path, want := range map[string]string{configMaps + "/a": c.typed, widgetsPath + "/a": c.custom} {
			if got := formOf(w.get(t, path, "Accept", c.accept)); got != want {
				t.Errorf("%s as %q: %s, want %s", path, c.accept, got, want)
			}
		}
	}
	// the list of media types shows whether the path can be watched
	w.get(t, configMaps+"/a", "Accept", "text/html").wantError(t, http.StatusNotAcceptable,
		metav1.StatusReasonNotAcceptable,
		"406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf")
	w.get(t, configMaps, "Accept", "text/html").wantError(t, http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch")
	w.get(t, widgetsPath, "Accept", "text/html").wantError(t, http.StatusNotAcceptable,
		metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf")
}

// formOf returns an answer's media type, and whether it is a table, or the code of a rejection.
func formOf(r response) string {
	if r.code != http.StatusOK {
		return strconv.Itoa(r.code)
	}
	form := r.header.Get("Content-Type")
	for _, mark := range []string{`"kind":"Table"`, "kind: Table"} {
		if strings.Contains(string(r.body), mark) {
			form += " Table"
		}
	}
	return form
}

// HEAD and OPTIONS are rejected, as by Kubernetes' router. A watch by its deprecated path must be a GET.
func TestUnsupportedMethods(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.createConfigMaps(t, "default", "a")
	w.create(t, widgetsPath, widget("a", `{}`))
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{http.MethodHead, configMaps, http.StatusMethodNotAllowed},
		{http.MethodHead, configMaps + "/a", http.StatusMethodNotAllowed},
		{http.MethodHead, widgetsPath + "/a", http.StatusOK}, // custom resources do not go through the router
		{http.MethodOptions, configMaps, http.StatusMethodNotAllowed},
		{http.MethodOptions, widgetsPath, http.StatusMethodNotAllowed},
		{"BREW", configMaps, http.StatusMethodNotAllowed},
		{http.MethodPost, configMaps + "/a", http.StatusMethodNotAllowed},
		{http.MethodPut, configMaps, http.StatusMethodNotAllowed},
		{http.MethodDelete, "/api/v1/configmaps", http.StatusMethodNotAllowed},
		{http.MethodDelete, "/api/v1/watch/namespaces/default/configmaps/a", http.StatusMethodNotAllowed},
		{http.MethodPost, "/api/v1/watch/namespaces/default/configmaps", http.StatusMethodNotAllowed},
	} {
		if r := w.send(t, c.method, c.path, ""); r.code != c.code {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.path, r.code, r.body, c.code)
		}
	}
	w.get(t, configMaps+"/a").want(t, http.StatusOK)
}

// The parameter watch is read like a bool in Kubernetes, on a path that lists. A path of one object ignores
// it.
func TestWatchParameter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.createConfigMaps(t, "default", "a")
		for query, want := range map[string]bool{
			"watch=true": true, "watch=1": true, "watch": true, "watch=": true, "watch=yes": true, "watch=TRUE": true,
			"watch=false": false, "watch=0": false, "watch=False": false, "": false, "watch=false&watch=true": false,
		} {
			watches := strings.HasPrefix(string(w.get(t,
				configMaps+"?timeoutSeconds=1&resourceVersion=0&"+query).want(t, http.StatusOK).body),
				`{"type":"ADDED"`)
			if watches != want {
				t.Errorf("%q watches: %t, want %t", query, watches, want)
			}
			if one := w.get(t, configMaps+"/a?"+query).want(t, http.StatusOK).object(t); one["kind"] != "ConfigMap" {
				t.Errorf("%q of one object: %v", query, one)
			}
		}
		const old = "/api/v1/watch/namespaces/default/configmaps/a?timeoutSeconds=1"
		if got := watched(t, w.get(t, old)); got != "ADDED a" {
			t.Errorf("by the old path: %s", got)
		}
		w.get(t, old+"&fieldSelector=metadata.name%3Db").wantError(t, http.StatusBadRequest,
			metav1.StatusReasonBadRequest, "fieldSelector metadata.name doesn't match requested name")
	})
}
