package server_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Tables for kubectl get --subresource show the numbers of a scale, and the object's columns for a status.
func TestSubresourceTables(t *testing.T) {
	t.Parallel()
	w := start(t)
	define(t, w, widgets())
	w.create(t, widgetsPath, widget("w", `{"size":3}`))
	w.create(t, "/apis/apps/v1/namespaces/default/deployments",
		`{"metadata":{"name":"d"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	for _, c := range []struct{ path, columns, row string }{
		{widgetsPath + "/w/scale", "Name Desired Available Age", "w 3 0 0s PartialObjectMetadata"},
		{widgetsPath + "/w/status", "Name Color", "w blue PartialObjectMetadata"},
		{"/apis/apps/v1/namespaces/default/deployments/d/scale", "Name Desired Available Age",
			"d 2 0 0s PartialObjectMetadata"},
		{"/apis/apps/v1/namespaces/default/deployments/d/scale?includeObject=Object", "Name Desired Available Age",
			"d 2 0 0s Scale"},
		{"/apis/apps/v1/namespaces/default/deployments/d/scale?includeObject=None", "Name Desired Available Age",
			"d 2 0 0s -"},
	} {
		var table metav1.Table
		w.get(t, c.path, "Accept", tableType).want(t, http.StatusOK).into(t, &table)
		var columns []string
		for _, column := range table.ColumnDefinitions {
			columns = append(columns, column.Name)
		}
		if got := strings.Join(columns, " "); got != c.columns || len(table.Rows) != 1 || table.ResourceVersion == "" {
			t.Fatalf("%s: columns %q, %d rows, revision %q", c.path, got, len(table.Rows), table.ResourceVersion)
		}
		if got := strings.Replace(row(t, table.Rows[0]), " 1s ", " 0s ", 1); got != c.row {
			t.Errorf("%s: row %q, want %q", c.path, got, c.row)
		}
	}
	partial := w.get(t, widgetsPath+"/w/scale", "Accept", partialType).want(t, http.StatusOK).object(t)
	if partial["kind"] != "PartialObjectMetadata" || valueAt(partial, "metadata", "name") != "w" ||
		partial["spec"] != nil {
		t.Errorf("the metadata of a scale: %v", partial)
	}
}
