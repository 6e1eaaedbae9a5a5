package structural

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	kjson "sigs.k8s.io/json"
)

// metadataCases maps metadata to the result of plainMetadata.
var metadataCases = map[string]bool{
	`{}`:                                 true,
	`{"name":"a","namespace":"default"}`: true,
	`{"generateName":"a-"}`:              true,
	`{"labels":{"a":"","b":"c"}}`:        true,
	`{"annotations":{"a":"<b>"}}`:        true,
	`{"finalizers":["a.com/b",""]}`:      true,
	`null`:                               false,
	`[]`:                                 false,
	`{"name":""}`:                        false,
	`{"name":null}`:                      false,
	`{"name":1}`:                         false,
	`{"labels":{}}`:                      false,
	`{"labels":null}`:                    false,
	`{"labels":{"a":null}}`:              false,
	`{"labels":{"a":1}}`:                 false,
	`{"labels":{"a":"b","c":{}}}`:        false,
	`{"finalizers":[]}`:                  false,
	`{"finalizers":[null]}`:              false,
	`{"finalizers":"a"}`:                 false,
	`{"uid":"u","resourceVersion":"1","generation":2}`:                            true,
	`{"creationTimestamp":"2026-01-02T03:04:05Z"}`:                                true,
	`{"deletionTimestamp":"2026-01-02T03:04:05Z","deletionGracePeriodSeconds":0}`: true,
	`{"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"","uid":"u"},
		{"apiVersion":"v1","kind":"K","name":"n","uid":"u","controller":false,"blockOwnerDeletion":true}]}`: true,
	`{"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z",
		"fieldsType":"FieldsV1","subresource":"s","fieldsV1":{"f:a":{".":{},"k:{\"<ü>\":1}":{}}}},{}]}`: true,
	`{"creationTimestamp":null}`:                                     false,
	`{"creationTimestamp":"0001-01-01T00:00:00Z"}`:                   false,
	`{"creationTimestamp":"2026-01-02T03:04:05.5Z"}`:                 false,
	`{"creationTimestamp":"2026-01-02T03:04:05+00:00"}`:              false,
	`{"creationTimestamp":"2026-01-02t03:04:05z"}`:                   false,
	`{"deletionTimestamp":"2026-01-02T05:04:05+02:00"}`:              false,
	`{"deletionGracePeriodSeconds":null}`:                            false,
	`{"deletionGracePeriodSeconds":1.5}`:                             false,
	`{"generation":0}`:                                               false,
	`{"generation":1.0}`:                                             false,
	`{"uid":""}`:                                                     false,
	`{"selfLink":"/a"}`:                                              false,
	`{"ownerReferences":[{"apiVersion":"v1","kind":"K","uid":"u"}]}`: false,
	`{"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"u","more":true}]}`:       false,
	`{"ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n","uid":"u","controller":null}]}`: false,
	`{"managedFields":[]}`:                         false,
	`{"managedFields":[1]}`:                        false,
	`{"managedFields":[{"manager":""}]}`:           false,
	`{"managedFields":[{"Manager":"m"}]}`:          false,
	`{"managedFields":[{"time":null}]}`:            false,
	`{"managedFields":[{"fieldsV1":null}]}`:        false,
	`{"managedFields":[{"fieldsV1":{"f:a":1.5}}]}`: false,
	`{"Name":"a"}`:                                 false,
	`{"managedFields":[{"manager":"m"}]}`:          true,
	`{"name":"a","ownerReferences":[]}`:            false,
	`{"name":"a","resourceVersion":"1"}`:           true,
}

// TestPlainMetadataIsUnchanged checks that the library does not change plain metadata and finds no unknown
// fields in it.
func TestPlainMetadataIsUnchanged(t *testing.T) {
	t.Parallel()
	for metadata, plain := range metadataCases {
		var decoded, normalized map[string]any
		for _, into := range []*map[string]any{&decoded, &normalized} {
			if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(`{"metadata":`+metadata+`}`), into); err != nil {
				t.Fatal(err)
			}
		}
		if got := plainMetadata(decoded); got != plain {
			t.Errorf("%s: plainMetadata returned %t", metadata, got)
		}
		if !plain {
			continue
		}
		meta, _, unknown, err := objectmeta.GetObjectMetaWithOptions(normalized,
			objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
		if err != nil || len(unknown) > 0 {
			t.Errorf("%s: the library finds %v, and the unknown fields %v", metadata, err, unknown)
			continue
		}
		if err := objectmeta.SetObjectMeta(normalized, meta); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(normalized, decoded); diff != "" {
			t.Errorf("%s changed (-library +got):\n%s", metadata, diff)
		}
	}
}
