package server_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	tableType   = "application/json;as=Table;v=v1;g=meta.k8s.io"
	partialType = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	partialList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
)

// Paging with limit and continue works for tables as for lists.
func TestPagesAsTables(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a", "b")
	var first, second metav1.Table
	w.get(t, configMaps+"?limit=1", "Accept", tableType).want(t, http.StatusOK).into(t, &first)
	if len(first.Rows) != 1 || first.Continue == "" || first.RemainingItemCount == nil ||
		*first.RemainingItemCount != 1 {
		t.Fatalf("the first page: %+v", first.ListMeta)
	}
	w.get(t, configMaps+"?limit=1&continue="+first.Continue, "Accept", tableType).want(t, http.StatusOK).into(t,
		&second)
	if len(second.Rows) != 1 || second.Rows[0].Cells[0] != "b" || second.Continue != "" {
		t.Errorf("the second page: %+v", second)
	}
}

// Only the first event of a watch as tables has columns.
func TestWatchAsTables(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.createConfigMaps(t, "default", "a")
	s := w.open(t, configMaps+"?watch=1", "Accept", tableType)
	w.createConfigMaps(t, "default", "b")
	w.send(t, http.MethodDelete, configMaps+"/a", "").want(t, http.StatusOK)
	for i, want := range []string{"ADDED a", "ADDED b", "DELETED a"} {
		e, _ := s.next(t)
		columns, _ := e.Object["columnDefinitions"].([]any)
		cells := valueAt(e.Object["rows"].([]any)[0].(map[string]any), "cells").([]any)
		if got := e.Type + " " + cells[0].(string); got != want || e.Object["kind"] != "Table" ||
			(len(columns) > 0) != (i == 0) {
			t.Errorf("event %d: %s with %d columns: %v, want %s", i, got, len(columns), e.Object, want)
		}
	}
}

// Partial metadata of objects, lists and events contains nothing but metadata, in JSON and protobuf.
func TestPartialObjectMetadata(t *testing.T) {
	t.Parallel()
	w := start(t)
	must(w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a", "x", "1"),
		metav1.CreateOptions{}))(t)
	define(t, w, widgets())
	w.create(t, widgetsPath, widget("a", `{"color":"red"}`))
	for _, path := range []string{configMaps, widgetsPath} {
		one := w.get(t, path+"/a", "Accept", partialType).want(t, http.StatusOK).object(t)
		if one["kind"] != "PartialObjectMetadata" || one["apiVersion"] != "meta.k8s.io/v1" ||
			valueAt(one, "metadata", "name") != "a" || len(one) != 3 {
			t.Errorf("%s: %v", path, one)
		}
		list := w.get(t, path, "Accept", partialList).want(t, http.StatusOK).object(t)
		if list["kind"] != "PartialObjectMetadataList" || len(list["items"].([]any)) != 1 {
			t.Errorf("%s: %v", path, list)
		}
		s := w.open(t, path+"?watch=1", "Accept", partialType)
		if e := s.want(t, "ADDED a"); e.Object["kind"] != "PartialObjectMetadata" || len(e.Object) != 3 {
			t.Errorf("%s: %v", path, e.Object)
		}
	}
	r := w.get(t, configMaps+"/a", "Accept", strings.Replace(partialType, jsonType, protobufType, 1)).want(t,
		http.StatusOK)
	if got := r.header.Get("Content-Type"); got != protobufType {
		t.Errorf("content type %q", got)
	}
}

func TestNotAcceptable(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.createConfigMaps(t, "default", "a")
	for _, accept := range []string{"text/html", "application/cbor", "image/*",
		"application/json;as=Table;v=v9;g=meta.k8s.io", "application/json;as=Nothing;v=v1;g=meta.k8s.io"} {
		for _, path := range []string{configMaps, configMaps + "/a", configMaps + "?watch=1"} {
			w.get(t, path, "Accept", accept).wantError(t, http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
				jsonType)
		}
	}
	w.get(t, configMaps, "Accept", strings.Replace(tableType, jsonType, protobufType, 1)).want(t,
		http.StatusNotAcceptable)
	if got := w.get(t, configMaps, "Accept",
		strings.Replace(tableType, jsonType, protobufType, 1)+","+jsonType).object(t); got["kind"] != "ConfigMapList" {
		t.Errorf("a table in protobuf, or else JSON, is %v", got["kind"])
	}
	w.get(t, widgetsPath, "Accept", protobufType).want(t, http.StatusNotAcceptable)
	table := ";as=Table;v=v1;g=meta.k8s.io"
	w.get(t, configMaps, "Accept", protobufType+table).wantError(t, http.StatusNotAcceptable,
		metav1.StatusReasonNotAcceptable, jsonType)
	if r := w.get(t, configMaps, "Accept",
		protobufType+table+", "+jsonType+table); r.header.Get("Content-Type") != jsonType ||
		r.object(t)["kind"] != "Table" {
		t.Errorf("a table, which protobuf has no form of, was answered as %q", r.header.Get("Content-Type"))
	}
	if r := w.get(t, configMaps+"?watch=1", "Accept", yamlType).want(t,
		http.StatusNotAcceptable); !strings.Contains(string(r.body), jsonType+";stream=watch") {
		t.Errorf("a watch in YAML: %s", r.body)
	}
	if got := w.get(t, configMaps, "Accept",
		"text/html, application/yaml;q=0.5, */*;q=0.1").header.Get("Content-Type"); got != yamlType {
		t.Errorf("the best of three is %q, want YAML", got)
	}
}

// TestReviewsHaveNoTable requests the answer of a review as a table, which Kubernetes rejects: before the review is
// answered, and only if the client accepts nothing else.
func TestReviewsHaveNoTable(t *testing.T) {
	t.Parallel()
	w := start(t)
	for path, body := range map[string]string{
		"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": `{"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}`,
		"/apis/authentication.k8s.io/v1/selfsubjectreviews":      `{}`,
		"/apis/authentication.k8s.io/v1/tokenreviews":            `{"spec":{"token":"a"}}`,
	} {
		w.send(t, http.MethodPost, path, body, "Accept", tableType).wantError(t, http.StatusNotAcceptable,
			metav1.StatusReasonNotAcceptable, "only the following media types are accepted: "+jsonType)
		got := w.send(t, http.MethodPost, path, body, "Accept", tableType+","+jsonType).want(t, http.StatusCreated)
		if kind := got.object(t)["kind"]; kind == "Table" {
			t.Errorf("%s is answered with a table, although the client accepts the object", path)
		}
		got = w.send(t, http.MethodPost, path, body, "Accept", partialType).want(t, http.StatusCreated)
		if kind := got.object(t)["kind"]; kind != "PartialObjectMetadata" {
			t.Errorf("the metadata of %s is answered as %v", path, kind)
		}
	}
}
