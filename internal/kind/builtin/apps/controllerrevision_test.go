package apps

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/bowline-dev/bowline/internal/kind"
	"github.com/bowline-dev/bowline/internal/object"
)

// revision decodes a revision.
func revision(t *testing.T, k kind.Kind, body string) kind.Object {
	t.Helper()
	obj, _, err := k.DecodeRequest(object.Form{APIVersion: "apps/v1", Format: object.JSON}, []byte(body), false)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestControllerRevisionRules(t *testing.T) {
	t.Parallel()
	k := controllerRevisionKind(object.NewCache(1 << 20))
	for _, r := range []rule{
		{"a revision", "", ``, `{"revision": 1, "data": {"a": "b"}}`, ``},
		{"a number is one", "validateControllerRevision", ``, `{"revision": -1, "data": {}}`,
			`revision: Invalid value: -1: must be greater than or equal to 0`},
		{"data is there", "ValidateControllerRevisionCreate", ``, `{"revision": 1}`,
			`data: Required value: data is mandatory`},
		{"data is something", "ValidateControllerRevisionCreate", ``, `{"revision": 1, "data": null}`,
			`data: Required value: data is mandatory`},
		{"data is an object", "ValidateControllerRevisionCreate", ``, `{"revision": 1, "data": [1]}`,
			`data: Required value: data must be a valid JSON object`},
		{"a number may change", "ValidateControllerRevisionUpdate", `{"revision": 1, "data": {"a": "b"}}`,
			`{"revision": 2, "data": {"a":"b"}}`, ``},
		{"data stays", "ValidateControllerRevisionUpdate", `{"revision": 1, "data": {"a": "b"}}`,
			`{"revision": 1, "data": {"a": "c"}}`,
			`data: Invalid value: {"a":"c"}: field is immutable`},
	} {
		var old kind.Object
		if r.was != "" {
			old = revision(t, k, r.was)
		}
		if got := text(k.Validate(t.Context(), revision(t, k, r.is), old, "")); got != r.want {
			t.Errorf("%s (%s):\n got %s\nwant %s", r.rule, r.source, got, r.want)
		}
	}
}

func TestControllerRevisionNamesItsWorkload(t *testing.T) {
	t.Parallel()
	k := controllerRevisionKind(object.NewCache(1 << 20))
	obj := revision(t, k, `{"metadata": {"name": "web-1", "ownerReferences": [
		{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u", "controller": true}]}, "revision": 1, "data": {}}`)
	row, err := k.Row(obj, "apps/v1", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if row[1] != "statefulset.apps/web" || row[2] != int64(1) {
		t.Errorf("row %v, want the workload statefulset.apps/web and the revision 1", row)
	}
	obj.(*appsv1.ControllerRevision).OwnerReferences = nil
	if row, err = k.Row(obj, "apps/v1", time.Time{}); err != nil || row[1] != "<none>" {
		t.Errorf("row %v %v, want no workload", row, err)
	}
}
