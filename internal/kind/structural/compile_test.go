package structural

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestPartialSchemasMatchWhole checks that the partial schemas find embedded objects, sets and maps,
// and defaults below properties, items and additional properties.
func TestPartialSchemasMatchWhole(t *testing.T) {
	t.Parallel()
	const inner = `{"type":"object","properties":{
	  "plain":{"type":"string"}, "mode":{"type":"string","default":"one"}, "gone":{"type":"object","default":{},"properties":{"x":{"type":"string","default":"y"}}},
	  "set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
	  "map":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","properties":{"k":{"type":"string","default":"d"},"v":{"type":"string"}}}},
	  "pod":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}`
	const value = `{"plain":"x","set":["a","a"],"map":[{"k":"a"},{"k":"a"},{},{"v":"x"}],"pod":{"apiVersion":"v1","metadata":{"name":7}}}`
	text := fmt.Sprintf(`{"type":"object","properties":{"here":%[1]s,"list":{"type":"array","items":%[1]s},"others":{"type":"object","additionalProperties":%[1]s},
	  "nothing":{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}}}`, inner)
	raw := fmt.Sprintf(`{"here":%[1]s,"list":[%[1]s,%[1]s],"others":{"a":%[1]s,"b":{}},"nothing":{"a":{"b":"c"}},"unknown":[1]}`, value)
	var content map[string]any
	if err := json.Unmarshal([]byte(raw), &content); err != nil {
		t.Fatal(err)
	}
	c, err := (&versionSchema{raw: []byte(text)}).compile("a test", false)
	if err != nil {
		t.Fatal(err)
	}
	whole, part := &unstructured.Unstructured{Object: content}, (&unstructured.Unstructured{Object: content}).DeepCopy()
	defaulting.Default(whole.Object, c.structural)
	defaulting.Default(part.Object, c.defaults)
	if !reflect.DeepEqual(whole, part) || whole.Object["here"].(map[string]any)["mode"] != "one" {
		t.Errorf("defaults by the whole schema:\n%v\nby the partial one:\n%v", whole, part)
	}
	same := func(what string, whole, part map[string]int) {
		if len(whole) < 8 || !maps.Equal(whole, part) {
			t.Errorf("errors in %s by the whole schema:\n%v\nby the partial one:\n%v", what, whole, part)
		}
	}
	texts := func(errs field.ErrorList) map[string]int {
		counts := map[string]int{}
		for _, e := range errs {
			counts[e.Error()]++
		}
		return counts
	}
	same("sets and maps", texts(listtype.ValidateListSetsAndMaps(nil, c.structural, whole.Object)),
		texts(listtype.ValidateListSetsAndMaps(nil, c.lists, whole.Object)))
	same("embedded objects", texts(objectmeta.Validate(t.Context(), nil, whole.Object, c.structural, false)),
		texts(objectmeta.Validate(t.Context(), nil, whole.Object, c.embeds, false)))
	if p := c.lists.Properties; len(p) != 3 || p["nothing"].Properties != nil {
		t.Errorf("the partial schema of lists has more than the paths to lists: %v", p)
	}
}
