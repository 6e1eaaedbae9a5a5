package kind

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/object"
)

// TestUnmarshalStoredMatchesUnmarshal compares unmarshalStored, which does not parse the field sets, with
// Unmarshal.
func TestUnmarshalStoredMatchesUnmarshal(t *testing.T) {
	t.Parallel()
	now := metav1.NewTime(time.Unix(1_700_000_000, 0))
	entry := func(manager, set string) metav1.ManagedFieldsEntry {
		e := metav1.ManagedFieldsEntry{Manager: manager, Operation: "Apply", APIVersion: "v1", Time: &now,
			FieldsType: "FieldsV1"}
		if set != "absent" {
			e.FieldsV1 = metav1.NewFieldsV1(set)
		}
		return e
	}
	const nested = `{"f:data":{".":{},"f:a\"}":{},"f:]<b":{}},"f:spec":{"k:{\"name\":\"x,y\"}":{".":{}},"v:\"{[\"":{}}}`
	for name, managed := range map[string][]metav1.ManagedFieldsEntry{
		"none":    nil,
		"one":     {entry("kubectl", nested)},
		"several": {entry("a", `{}`), entry(`"fieldsV1":{`, nested), entry("b", `{"f:data":{}}`), entry("c", nested)},
		"without": {entry("a", "absent"), entry("b", nested), entry("c", "null"), entry("d", "absent")},
	} {
		for _, format := range []object.Format{object.JSON, object.Protobuf} {
			cm := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}}
			cm.Name, cm.ManagedFields = "settings", managed
			cm.Annotations = map[string]string{"a": `"managedFields":[{"fieldsV1":{}}]`, "b": `\"}]`}
			cm.Data = map[string]string{"metadata": `{"managedFields":[{"fieldsV1":{"f:x":{}}}]}`}
			data, err := Marshal(format, cm)
			if err != nil {
				t.Fatal(err)
			}
			var want, got corev1.ConfigMap
			if err := Unmarshal(format, data, &want); err != nil {
				t.Fatal(err)
			}
			if err := unmarshalStored(format, data, &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s as %s: read\n%v\nwant\n%v", name, format, got, want)
			}
		}
	}
}
