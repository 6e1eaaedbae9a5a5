package server_test

import (
	"fmt"
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

// row formats a row of a table as one line: its cells and the kind of its object.
func row(t testing.TB, r metav1.TableRow) string {
	t.Helper()
	kind := "-"
	if r.Object.Raw != nil {
		var meta metav1.TypeMeta
		response{body: r.Object.Raw}.into(t, &meta)
		kind = meta.Kind
	}
	return strings.Trim(fmt.Sprint(r.Cells), "[]") + " " + kind
}

func TestTables(t *testing.T) {
	t.Parallel()
	w := start(t)
	must(w.clients.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("a", "x", "1", "y", "2"),
		metav1.CreateOptions{}))(t)
	define(t, w, widgets())
	w.create(t, widgetsPath, widget("a", `{"color":"red"}`))
	for _, c := range []struct{ path, columns, row string }{
		{configMaps, "Name Data Age", "a 2 0s PartialObjectMetadata"},
		{configMaps + "/a", "Name Data Age", "a 2 0s PartialObjectMetadata"},
		{configMaps + "?includeObject=Object", "Name Data Age", "a 2 0s ConfigMap"},
		{configMaps + "?includeObject=None", "Name Data Age", "a 2 0s -"},
		{widgetsPath, "Name Color", "a red PartialObjectMetadata"},
		{widgetsPath + "/a?includeObject=Object", "Name Color", "a red Widget"},
	} {
		r := w.get(t, c.path, "Accept", tableType).want(t, http.StatusOK)
		var table metav1.Table
		r.into(t, &table)
		var columns []string
		for _, column := range table.ColumnDefinitions {
			columns = append(columns, column.Name)
		}
		if got := strings.Join(columns, " "); got != c.columns || table.Kind != "Table" ||
			table.APIVersion != "meta.k8s.io/v1" || table.ResourceVersion == "" {
			t.Errorf("%s: columns %q: %s", c.path, got, r.body)
		}
		if len(table.Rows) != 1 {
			t.Fatalf("%s: %d rows", c.path, len(table.Rows))
		}
		got := row(t, table.Rows[0])
		got = strings.Replace(got, " 1s ", " 0s ", 1) // a second may have passed
		if got != c.row {
			t.Errorf("%s: row %q, want %q", c.path, got, c.row)
		}
	}
	w.get(t, configMaps+"?includeObject=Some", "Accept", tableType).wantError(t, http.StatusBadRequest,
		metav1.StatusReasonBadRequest, "includeObject")
}

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

// Writes answer with tables and metadata if the client accepts these.
func TestWritesReturnTables(t *testing.T) {
	t.Parallel()
	w := start(t)
	body := `{"metadata":{"name":"a"},"data":{"k":"1"}}`
	for _, dry := range []string{"?dryRun=All", ""} {
		created := w.send(t, http.MethodPost, configMaps+dry, body, "Accept", tableType).want(t,
			http.StatusCreated).object(t)
		if created["kind"] != "Table" {
			t.Errorf("created%s: %v", dry, created)
		}
	}
	whole := w.send(t, http.MethodPost, configMaps+"?dryRun=All&includeObject=Object",
		`{"metadata":{"name":"b"},"data":{"k":"1"}}`, "Accept", tableType).want(t, http.StatusCreated).object(t)
	if row := whole["rows"].([]any)[0].(map[string]any); valueAt(row, "object", "kind") != "ConfigMap" ||
		valueAt(row, "object", "data", "k") != "1" {
		t.Errorf("the row of a dry run with its object: %v", row)
	}
	for _, dry := range []string{"?dryRun=All", ""} {
		patched := w.send(t, http.MethodPatch, configMaps+"/a"+dry, `{"data":{"k":"2"}}`, "Accept", partialType,
			"Content-Type", mergeType).want(t, http.StatusOK).object(t)
		if patched["kind"] != "PartialObjectMetadata" || patched["data"] != nil {
			t.Errorf("patched%s: %v", dry, patched)
		}
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
