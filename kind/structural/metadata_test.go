package structural

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
)

// TestPlainMetadataStaysAsItIs: what is counted as plain is what the library makes of it, and names nothing unknown.
func TestPlainMetadataStaysAsItIs(t *testing.T) {
	t.Parallel()
	for metadata, plain := range map[string]bool{
		`{}`:                                  true,
		`{"name":"a","namespace":"default"}`:  true,
		`{"generateName":"a-"}`:               true,
		`{"labels":{"a":"","b":"c"}}`:         true,
		`{"annotations":{"a":"<b>"}}`:         true,
		`{"finalizers":["a.com/b",""]}`:       true,
		`null`:                                false,
		`[]`:                                  false,
		`{"name":""}`:                         false,
		`{"name":null}`:                       false,
		`{"name":1}`:                          false,
		`{"labels":{}}`:                       false,
		`{"labels":null}`:                     false,
		`{"labels":{"a":null}}`:               false,
		`{"labels":{"a":1}}`:                  false,
		`{"labels":{"a":"b","c":{}}}`:         false,
		`{"finalizers":[]}`:                   false,
		`{"finalizers":[null]}`:               false,
		`{"finalizers":"a"}`:                  false,
		`{"creationTimestamp":null}`:          false,
		`{"Name":"a"}`:                        false,
		`{"managedFields":[{"manager":"m"}]}`: false,
		`{"name":"a","ownerReferences":[]}`:   false,
		`{"name":"a","resourceVersion":"1"}`:  false,
	} {
		var is, fitted map[string]any
		for _, into := range []*map[string]any{&is, &fitted} {
			if err := json.Unmarshal([]byte(`{"metadata":`+metadata+`}`), into); err != nil {
				t.Fatal(err)
			}
		}
		if got := plainMetadata(is); got != plain {
			t.Errorf("%s: plain is %t", metadata, got)
		}
		if !plain {
			continue
		}
		meta, _, unknown, err := objectmeta.GetObjectMetaWithOptions(fitted, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
		if err != nil || len(unknown) > 0 {
			t.Errorf("%s: %v, unknown %v", metadata, err, unknown)
			continue
		}
		if err := objectmeta.SetObjectMeta(fitted, meta); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fitted, is); diff != "" {
			t.Errorf("%s becomes something else (-library +is):\n%s", metadata, diff)
		}
	}
}
